// SPDX-License-Identifier: Apache-2.0
//! Evaluates policies: one line of JSON with policies and an input in, one line with what they say out.
//!
//! The text of policies comes with the request, so this process needs no file at all: before it reads a byte it gives up
//! every system call but those that compute, read from 0 and write to 1. Whatever goes wrong is an answer with `error`
//! or no answer, and aisbx refuses on either.

mod lockdown;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use std::io::{BufRead, Write};
use std::num::NonZeroU32;
use std::time::Duration;

const PACKAGE: &str = "data.aisbx";
/// What decides, and is read of the package itself only.
const DECISIONS: [&str; 5] = ["deny", "require_gate", "require_approvals", "require_driver", "limits"];
const EVALUATION: Duration = Duration::from_millis(200);
const STEPS_BETWEEN_LOOKS: u32 = 64;
const REQUEST_BYTES: u64 = 32 << 20;
/// Less than the limit of the address space, so that an error comes back instead of an abort.
const MEMORY_BYTES: u64 = 96 << 20;

type Answer = Result<Value, String>;

/// `FILE:LINE:COLUMN: what is wrong`, of an error that comes with a picture of the place.
fn brief(error: impl ToString) -> String {
    let text = error.to_string();
    let part = |mark: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(mark));

    match (part("--> "), part("error: ")) {
        (Some(place), Some(what)) => format!("{place}: {what}"),
        _ => text.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

fn text(value: &Value) -> Result<String, String> {
    value.as_string().map(|s| s.to_string()).map_err(brief)
}

fn object(pairs: Vec<(&str, Value)>) -> Value {
    Value::from(pairs.into_iter().map(|(k, v)| (Value::from(k), v)).collect::<std::collections::BTreeMap<_, _>>())
}

/// An engine with the modules of one set, and each module's package and text.
fn load(set: &Value) -> Result<(Engine, Vec<(String, String)>), String> {
    let mut engine = Engine::new();
    let mut modules = Vec::new();

    engine.set_strict_builtin_errors(true);
    engine.set_execution_timer_config(ExecutionTimerConfig {
        limit: EVALUATION,
        check_interval: NonZeroU32::new(STEPS_BETWEEN_LOOKS).expect("not zero"),
    });
    for module in set["modules"].as_array().map_err(brief)?.iter() {
        let source = text(&module["text"])?;
        let package = engine
            .add_policy(text(&module["path"])?, source.clone())
            .map_err(brief)?;

        modules.push((package, source));
    }
    Ok((engine, modules))
}

/// In a package below, a rule with the name of a decision would decide nothing, against what it looks like.
fn refuse_below(engine: &mut Engine, package: &str) -> Result<(), String> {
    for name in DECISIONS {
        let rule = format!("{package}.{name}");

        match engine.eval_rule(rule.clone()) {
            Err(error) if error.to_string() == "not a valid rule path" => {}
            _ => {
                let rule = rule.trim_start_matches("data.");

                return Err(format!("{rule} would decide nothing: `{name}` is read in `package aisbx` only"));
            }
        }
    }
    Ok(())
}

/// All rules of the package; functions are none of them.
fn decide(set: &Value, input: &Value, with_lines: bool) -> Answer {
    let (mut engine, modules) = load(set)?;

    if modules.iter().any(|(package, _)| package != PACKAGE && !package.starts_with("data.aisbx.")) {
        return Err("a policy is in another package: begin it with `package aisbx`".into());
    }
    engine.set_input(input.clone());
    for (package, _) in modules.iter().filter(|(package, _)| package != PACKAGE) {
        refuse_below(&mut engine, package)?;
    }
    engine.set_enable_coverage(with_lines);
    let results = engine.eval_query(PACKAGE.to_string(), false).map_err(brief)?;
    let rules = results
        .result
        .first()
        .and_then(|r| r.expressions.first())
        .map(|e| e.value.clone())
        .unwrap_or(Value::Undefined);

    if rules.as_object().is_err() {
        return Err("no rule is defined".into());
    }
    let mut pairs = vec![("name", set["name"].clone()), ("rules", rules)];

    if with_lines {
        let report = engine.get_coverage_report().map_err(brief)?;
        let files = report.files.iter().map(|file| {
            let lines = file.covered.iter().map(|&line| Value::from(line as u64)).collect::<Vec<_>>();

            object(vec![("path", Value::from(file.path.as_str())), ("lines", Value::from(lines))])
        });
        pairs.push(("covered", Value::from(files.collect::<Vec<_>>())));
    }
    Ok(object(pairs))
}

/// The rules of a module whose names begin with `test_`, in the order in which they stand there.
fn test_names(source: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();

    for line in source.lines().filter(|line| line.starts_with("test_")) {
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());

        if names.last() != Some(&&line[..end]) {
            names.push(&line[..end]);
        }
    }
    names
}

fn test(set: &Value) -> Answer {
    let (mut engine, modules) = load(set)?;
    let mut rows = Vec::new();

    for (package, source) in &modules {
        for name in test_names(source) {
            engine.set_input(Value::new_object());
            let (passed, why) = match engine.eval_rule(format!("{package}.{name}")) {
                Ok(value) if value == Value::Bool(true) => (true, String::new()),
                Ok(value) => (false, format!("it is {value}")),
                Err(error) => (false, brief(error)),
            };
            rows.push(object(vec![
                ("test", Value::from(format!("{}.{name}", package.trim_start_matches("data.")))),
                ("passed", Value::from(passed)),
                ("why", Value::from(why)),
            ]));
        }
    }
    Ok(object(vec![("name", set["name"].clone()), ("tests", Value::from(rows))]))
}

fn answer(line: &str) -> Answer {
    let request = Value::from_json_str(line).map_err(brief)?;
    let mode = text(&request["mode"])?;
    let mut answers = Vec::new();

    // One engine for each set: a rule of one must not reach into the other, whatever its name.
    for set in request["sets"].as_array().map_err(brief)?.iter() {
        answers.push(match mode.as_str() {
            "test" => test(set)?,
            _ => decide(set, &request["input"], mode == "explain")?,
        });
    }
    Ok(object(vec![("sets", Value::from(answers))]))
}

fn main() {
    if lockdown::enter().is_err() {
        std::process::exit(1);
    }
    regorus::set_global_memory_limit(Some(MEMORY_BYTES));
    let mut input = std::io::BufReader::new(std::io::Read::take(std::io::stdin(), REQUEST_BYTES));
    let mut line = String::new();

    while let Ok(1..) = input.read_line(&mut line) {
        let value = answer(&line).unwrap_or_else(|why| object(vec![("error", Value::from(why))]));
        let Ok(out) = value.to_json_str() else { std::process::exit(1) };
        // It is laid out for people; line ends within texts are escaped.
        let out = out.replace('\n', "") + "\n";

        if std::io::stdout().write_all(out.as_bytes()).is_err() {
            std::process::exit(1);
        }
        line.clear();
    }
}
