//! The driver of ONNX Runtime in Rust, by the ort crate. Usage: ORT_DYLIB_PATH=... run_ort CASES RESULTS < lines of cases.txt
use cases::{drive, Any, Tensor};
use ort::logging::LogLevel;
use ort::session::Session;
use ort::value::{DynTensor, DynValue, TensorElementType as T};
mod cases;

const DTYPES: [(&str, T); 12] = [
    ("float64", T::Float64),
    ("float32", T::Float32),
    ("float16", T::Float16),
    ("bool", T::Bool),
    ("int8", T::Int8),
    ("int16", T::Int16),
    ("int32", T::Int32),
    ("int64", T::Int64),
    ("uint8", T::Uint8),
    ("uint16", T::Uint16),
    ("uint32", T::Uint32),
    ("uint64", T::Uint64),
];

fn to_value(session: &Session, t: &Tensor) -> Any<DynValue> {
    let (_, dtype) = DTYPES
        .iter()
        .find(|d| d.0 == t.dtype)
        .ok_or("a dtype that is not known")?;
    let mut value = DynTensor::new(session.allocator(), *dtype, t.shape.clone())?;
    if !t.bytes.is_empty() {
        // The tensor was made for as many elements as t has.
        unsafe {
            value
                .data_ptr_mut()
                .cast::<u8>()
                .copy_from(t.bytes.as_ptr(), t.bytes.len())
        };
    }
    Ok(value.into_dyn())
}

fn to_tensor(name: &str, value: DynValue) -> Any<Tensor> {
    let value: DynTensor = value.downcast()?;
    let (dtype, _) = DTYPES
        .iter()
        .find(|d| d.1 == *value.data_type())
        .ok_or("an output of another dtype")?;
    let shape: Vec<usize> = value.shape().iter().map(|&n| n as usize).collect();
    let size = value
        .data_type()
        .byte_size(shape.iter().product())
        .ok_or("too large")?;
    let bytes = if size == 0 {
        vec![]
    } else {
        unsafe { std::slice::from_raw_parts(value.data_ptr().cast::<u8>(), size) }.to_vec()
    };
    Ok(Tensor {
        name: name.into(),
        dtype: dtype.to_string(),
        shape,
        bytes,
    })
}

fn main() -> Any<()> {
    let environment = ort::init().with_name("run_ort").build()?;
    environment.set_log_level(LogLevel::Fatal);
    let library = std::fs::canonicalize(std::env::var("ORT_DYLIB_PATH")?)?;
    let version = library
        .to_string_lossy()
        .split(".so.")
        .nth(1)
        .unwrap_or("of no version")
        .to_string();
    drive(
        &format!("ONNX Runtime {version} (Rust, ort 2.0.0-rc.15)"),
        |path, _| {
            let mut builder = Session::builder(&environment)?
                .with_intra_threads(1)?
                .with_log_level(LogLevel::Fatal)?;
            Ok((builder.commit_from_file(path)?, true))
        },
        |session, inputs| {
            let mut feed = Vec::new();
            for t in inputs {
                feed.push((t.name.clone(), to_value(session, t)?));
            }
            let names: Vec<String> = session
                .outputs()
                .iter()
                .map(|o| o.name().to_string())
                .collect();
            let mut outputs = session.run(feed)?;
            names
                .iter()
                .map(|n| to_tensor(n, outputs.remove(n).ok_or("an output is missing")?))
                .collect()
        },
    )
}
