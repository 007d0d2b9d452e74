//! The driver of tract. Usage: run_tract CASES RESULTS < lines of cases.txt
//!
//! tract reads dims that have names as symbols. Where it cannot plan a model with these, it is given the lengths of the
//! inputs, once for each case, as its documentation proposes.
use cases::{drive, Any, Tensor};
use std::path::Path;
use std::sync::Arc;
use tract_onnx::prelude::*;
mod cases;

const DTYPES: [(&str, DatumType); 12] = [
    ("float64", DatumType::F64),
    ("float32", DatumType::F32),
    ("float16", DatumType::F16),
    ("bool", DatumType::Bool),
    ("int8", DatumType::I8),
    ("int16", DatumType::I16),
    ("int32", DatumType::I32),
    ("int64", DatumType::I64),
    ("uint8", DatumType::U8),
    ("uint16", DatumType::U16),
    ("uint32", DatumType::U32),
    ("uint64", DatumType::U64),
];

struct Model {
    plan: Arc<TypedRunnableModel>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

fn names_of(model: &InferenceModel, outlets: &[OutletId]) -> Vec<String> {
    outlets
        .iter()
        .map(|&o| {
            model
                .outlet_label(o)
                .unwrap_or(&model.nodes[o.node].name)
                .to_string()
        })
        .collect()
}

fn dtype_of(t: &Tensor) -> Any<DatumType> {
    Ok(DTYPES
        .iter()
        .find(|d| d.0 == t.dtype)
        .ok_or("a dtype that is not known")?
        .1)
}

fn find<'a>(feed: &'a [Tensor], name: &str) -> Any<&'a Tensor> {
    Ok(feed
        .iter()
        .find(|t| t.name == *name)
        .ok_or(format!("no input {name}"))?)
}

fn load(path: &Path, feed: &[Tensor]) -> Any<(Model, bool)> {
    let read = || {
        onnx()
            .with_ignore_value_info(true)
            .model_for_path(path)
            .map_err(|e| format!("{e:#}"))
    };
    let plan = |m: InferenceModel| {
        cases::caught(|| {
            Ok(m.into_optimized()
                .and_then(|m| m.into_runnable())
                .map_err(|e| format!("{e:#}"))?)
        })
    };
    let mut model = read()?;
    let (inputs, outputs) = (
        names_of(&model, model.input_outlets()?),
        names_of(&model, model.output_outlets()?),
    );
    if let Ok(plan) = plan(model) {
        return Ok((
            Model {
                plan,
                inputs,
                outputs,
            },
            true,
        ));
    }
    model = read()?;
    for (k, name) in inputs.iter().enumerate() {
        let t = find(feed, name)?;
        model.set_input_fact(k, InferenceFact::dt_shape(dtype_of(t)?, &t.shape))?;
    }
    Ok((
        Model {
            plan: plan(model)?,
            inputs,
            outputs,
        },
        false,
    ))
}

fn to_tensor(name: &str, value: &TValue) -> Any<Tensor> {
    let value = match value.datum_type() {
        DatumType::TDim => value.cast_to_dt(DatumType::I64)?.into_owned(),
        _ => value.clone().into_tensor(),
    };
    let (dtype, _) = DTYPES
        .iter()
        .find(|d| d.1 == value.datum_type())
        .ok_or(format!("{name} is {:?}", value.datum_type()))?;
    Ok(Tensor {
        name: name.into(),
        dtype: dtype.to_string(),
        shape: value.shape().to_vec(),
        bytes: value.as_bytes().to_vec(),
    })
}

fn run(model: &mut Model, feed: &[Tensor]) -> Any<Vec<Tensor>> {
    let mut inputs = tvec!();
    for name in &model.inputs {
        let t = find(feed, name)?;
        let value =
            unsafe { tract_onnx::prelude::Tensor::from_raw_dt(dtype_of(t)?, &t.shape, &t.bytes) }?;
        inputs.push(value.into_tvalue());
    }
    let outputs = model.plan.run(inputs).map_err(|e| format!("{e:#}"))?;
    model
        .outputs
        .iter()
        .zip(&outputs)
        .map(|(n, v)| to_tensor(n, v))
        .collect()
}

fn main() -> Any<()> {
    std::panic::set_hook(Box::new(|_| {}));
    drive("tract 0.23.9", load, run)
}
