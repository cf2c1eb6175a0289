// SPDX-License-Identifier: Apache-2.0
//! Evaluates policies: one line of JSON with policies and an input in, one line with what they say out.
//!
//! With the word `keep`, sockets come in by descriptor 0, each for one line there and one line back. What was parsed for one
//! decision is kept for the next that names the same digest and brings no policies.
//!
//! The text of policies comes with the request, so this process needs no file at all: before it reads a byte it gives up
//! every system call but those that compute, read from 0 and write to 1. Whatever goes wrong is an answer with `error`
//! or no answer, and aisbx refuses on either.

mod door;
mod lockdown;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use std::io::{BufRead, BufReader, Read, Write};
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

/// Of the processor, in all: a kept evaluator that used so much ends, so that every question has the rest of its limit.
const CPU_ENOUGH: Duration = Duration::from_secs(1);

type Answer = Result<Value, String>;

/// One set of policies, parsed and looked through.
struct Parsed {
    name: Value,
    engine: Engine,
}

/// What the last decision was made with, by the digest under which it came.
type Kept = Option<(String, Vec<Parsed>)>;

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

fn parse(set: &Value) -> Result<Parsed, String> {
    let (mut engine, modules) = load(set)?;

    if modules.iter().any(|(package, _)| package != PACKAGE && !package.starts_with("data.aisbx.")) {
        return Err("a policy is in another package: begin it with `package aisbx`".into());
    }
    for (package, _) in modules.iter().filter(|(package, _)| package != PACKAGE) {
        refuse_below(&mut engine, package)?;
    }
    // Evaluates no rule, but has them all analyzed, which copies would each do for themselves.
    engine.eval_query("true".into(), false).map_err(brief)?;
    Ok(Parsed { name: set["name"].clone(), engine })
}

/// All rules of the package; functions are none of them. Evaluated in a copy: nothing of one question is there at the next.
fn decide(parsed: &Parsed, input: &Value, with_lines: bool) -> Answer {
    let mut engine = parsed.engine.clone();

    engine.set_input(input.clone());
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
    let mut pairs = vec![("name", parsed.name.clone()), ("rules", rules)];

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

/// The sets of a request; without any, those that were kept under its digest, if they were.
fn sets(request: &Value, kept: &mut Kept) -> Result<Option<Vec<Parsed>>, String> {
    match (&request["sets"], kept.take()) {
        (Value::Undefined, Some((digest, sets))) if request["digest"] == Value::from(digest.as_str()) => Ok(Some(sets)),
        (Value::Undefined, _) => Ok(None),
        (sets, _) => sets.as_array().map_err(brief)?.iter().map(parse).collect::<Result<_, _>>().map(Some),
    }
}

fn answer(line: &str, kept: &mut Kept) -> Answer {
    let request = Value::from_json_str(line).map_err(brief)?;
    let mode = text(&request["mode"])?;

    // One engine for each set: a rule of one must not reach into the other, whatever its name.
    if mode == "test" {
        let rows = request["sets"].as_array().map_err(brief)?.iter().map(test).collect::<Result<Vec<_>, _>>()?;
        return Ok(object(vec![("sets", Value::from(rows))]));
    }
    let Some(sets) = sets(&request, kept)? else {
        return Ok(object(vec![("unknown", Value::from(true))]));
    };
    let rows = sets
        .iter()
        .map(|parsed| decide(parsed, &request["input"], mode == "explain"))
        .collect::<Result<Vec<_>, _>>()?;

    // Only what gave an answer is kept.
    if let Ok(digest) = text(&request["digest"]) {
        *kept = Some((digest, sets));
    }
    Ok(object(vec![("sets", Value::from(rows))]))
}

fn has_had_enough() -> bool {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };

    // SAFETY: the structure lives until the call returns.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) } < 0;

    failed || Duration::new(used.tv_sec as u64, used.tv_nsec as u32) > CPU_ENOUGH
}

/// One question from STREAM, and its answer there. False at its end, and when there is no reader.
fn serve<S: Read>(stream: &mut BufReader<S>, mut out: impl Write, kept: &mut Kept) -> bool {
    let mut line = String::new();

    if !matches!(stream.take(REQUEST_BYTES).read_line(&mut line), Ok(1..)) {
        return false;
    }
    let value = answer(&line, kept).unwrap_or_else(|why| object(vec![("error", Value::from(why))]));
    let Ok(text) = value.to_json_str() else { std::process::exit(1) };

    // It is laid out for people; line ends within texts are escaped.
    out.write_all((text.replace('\n', "") + "\n").as_bytes()).is_ok()
}

fn main() {
    let keeps = std::env::args().nth(1).is_some_and(|word| word == "keep");
    let mut kept: Kept = None;

    // The first regular expression of a process looks in files how many processors there are, which ends it behind the lockdown.
    if Engine::new().eval_query("regex.is_valid(\"a\")".into(), false).is_err() || lockdown::enter().is_err() {
        std::process::exit(1);
    }
    regorus::set_global_memory_limit(Some(MEMORY_BYTES));
    if keeps {
        while let Some(asker) = door::next() {
            serve(&mut BufReader::new(&asker), &asker, &mut kept);
            if has_had_enough() {
                break;
            }
        }
    } else {
        let mut stdin = BufReader::new(std::io::stdin());

        while serve(&mut stdin, std::io::stdout(), &mut kept) {}
    }
}
