//! The files that cases.py describes, for both drivers.
use std::error::Error;
use std::fs;
use std::io::{stdin, BufRead};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

pub type Any<T> = Result<T, Box<dyn Error>>;

pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

fn size_of(dtype: &str) -> usize {
    match dtype {
        "bool" | "int8" | "uint8" => 1,
        "int16" | "uint16" | "float16" => 2,
        "int32" | "uint32" | "float32" => 4,
        _ => 8,
    }
}

pub fn read_inputs(case: &Path) -> Any<Vec<Tensor>> {
    let data = fs::read(format!("{}.bin", case.display()))?;
    let mut at = 0;
    let mut tensors = Vec::new();
    for line in fs::read_to_string(format!("{}.in", case.display()))?.lines() {
        let mut words = line.split(' ').map(str::to_string);
        let (name, dtype) = (
            words.next().ok_or("no name")?,
            words.next().ok_or("no dtype")?,
        );
        let shape = words.map(|w| Ok(w.parse()?)).collect::<Any<Vec<usize>>>()?;
        let size = shape.iter().product::<usize>() * size_of(&dtype);
        tensors.push(Tensor {
            name,
            dtype,
            shape,
            bytes: data[at..at + size].to_vec(),
        });
        at += size;
    }
    Ok(tensors)
}

fn write_outputs(out: &Path, tensors: &[Tensor]) -> Any<()> {
    let (mut text, mut data) = (String::new(), Vec::new());
    for t in tensors {
        let lengths: String = t.shape.iter().map(|n| format!(" {n}")).collect();
        text += &format!("{} {}{}\n", t.name, t.dtype, lengths);
        data.extend(&t.bytes);
    }
    fs::write(format!("{}.bin", out.display()), data)?;
    Ok(fs::write(format!("{}.out", out.display()), text)?)
}

/// What f returns; a panic is an error, too.
pub fn caught<T>(f: impl FnOnce() -> Any<T>) -> Any<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| {
        let text = p
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(p.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("?")).into())
    })
}

/// Goes through the lines of cases.txt on standard input, with a model loaded once for the cases that follow each other.
/// load says whether its model is for inputs of all lengths, or must be loaded again for the next ones.
pub fn drive<M>(
    version: &str,
    load: impl Fn(&Path, &[Tensor]) -> Any<(M, bool)>,
    run: impl Fn(&mut M, &[Tensor]) -> Any<Vec<Tensor>>,
) -> Any<()> {
    let folders: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [cases, results] = &folders[..] else {
        return Err("usage: CASES RESULTS < lines of cases.txt".into());
    };
    fs::write(results.join("version"), version)?;
    let (mut loaded, mut model) = (String::new(), None);
    for line in stdin().lock().lines() {
        let line = line?;
        let (id, file) = line.split_once(' ').ok_or("no model in a line")?;
        let out = results.join(id);
        let mut failed = "load";
        let result = caught(|| {
            let inputs = read_inputs(&cases.join(id))?;
            if loaded != file {
                loaded.clear();
                let (made, for_all_lengths) = load(&cases.join(file), &inputs)?;
                model = Some(made);
                loaded = if for_all_lengths {
                    file.to_string()
                } else {
                    String::new()
                };
            }
            failed = "run";
            run(model.as_mut().ok_or("no model")?, &inputs)
        });
        match result {
            Ok(tensors) => write_outputs(&out, &tensors)?,
            Err(e) => {
                let words = e
                    .to_string()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                fs::write(
                    format!("{}.out", out.display()),
                    format!("{failed} {}\n", words.chars().take(300).collect::<String>()),
                )?
            }
        }
    }
    Ok(())
}
