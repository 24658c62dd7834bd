// What a conversation tells as stretches of time: who was heard, which tools ran, what was held.
// The same as turnfsm.fsm.diagram.lanes, for records that still come.

function lanesOf(recording) {
  const { records, times, end } = recording;
  const notes = (kind) => records.filter((row) => row.m === kind);
  const entries = records.filter((row) => row.k !== undefined);
  const does = (row, ...actions) => (row.a ?? []).some((action) => actions.includes(action));
  const endsStep = (row) => row.q === undefined && (row.k === "step_finished" || row.k === "step_interrupted");

  function between(opens, closes, label = "") {
    const spans = [];
    let since = null;
    for (const row of entries) {
      if (since !== null && closes(row)) {
        spans.push({ a: since, b: row.t, label, by: row });
        since = null;
      }
      if (since === null && opens(row)) since = row.t;
    }
    if (since !== null) spans.push({ a: since, b: end, label, by: null, open: true });
    return spans;
  }

  const second = (value) => (typeof value === "number" && value >= 0 && value < 1e7 ? value : null);
  const text = (value) => (typeof value === "string" ? value : "");
  function noted(kind) {
    return notes(kind).map((row) => {
      const x = row.x ?? {};
      const a = second(x.start) ?? row.t;
      return { a, b: Math.max(a, second(x.end) ?? end), label: text(x.text), row };
    });
  }

  function user() {
    const spans = noted("user_audio");
    if (spans.length) return spans;
    const heard = between((r) => r.k === "user_started_speaking", (r) => r.k === "user_stopped_speaking");
    const words = notes("transcript");
    heard.forEach((span, i) => {
      const limit = i + 1 < heard.length ? heard[i + 1].a : end + 1;
      const said = words.filter((w) => span.a < w.t && w.t <= limit).map((w) => text(w.x && w.x.text));
      span.label = said.join(" ").trim();
    });
    return heard;
  }

  function agent() {
    const spans = noted("agent_audio");
    if (spans.length) {
      for (const span of spans) span.interrupted = span.row.x.interrupted === true;
      return spans;
    }
    const closes = (r) => r.k === "playout_finished" || endsStep(r) || does(r, "interrupt_speech", "force_interrupt");
    const heard = between((r) => r.k === "playout_started", closes);
    for (const span of heard) {
      span.interrupted = span.by !== null && !["playout_finished", "step_finished"].includes(span.by.k);
    }
    return heard;
  }

  function tools() {
    const spans = noted("tool");
    for (const span of spans) {
      span.label = text(span.row.x && span.row.x.name) || "tool";
      span.kind = text(span.row.x && span.row.x.outcome);
    }
    if (spans.length) return spans;
    const open = new Map(), found = [];
    for (const row of records) {
      const x = row.x ?? {};
      if (row.m === "tool_started" && x.call !== undefined) {
        const span = { a: row.t, b: end, label: text(x.name) || "tool", kind: "", open: true };
        open.set(x.call, span);
        found.push(span);
      } else if (row.m === "tool_ended" && x.how !== "released" && open.has(x.call)) {
        Object.assign(open.get(x.call), { b: row.t, kind: text(x.how), open: false });
        open.delete(x.call);
      }
    }
    if (found.length) return found;
    return between((r) => r.k === "tool_started", (r) => r.k === "tools_drained" || r.k === "tools_released", "tool");
  }

  function states() {
    const spans = [];
    let a = 0, state = recording.initial;
    records.forEach((row, i) => {
      if (!row.e) return;
      spans.push({ a, b: times[i], label: state });
      a = times[i];
      state = row.d;
    });
    spans.push({ a, b: end, label: state });
    return spans;
  }

  const resumes = (r) => does(r, "resume_output", "interrupt_speech", "force_interrupt", "release_output") || endsStep(r);
  const refusals = [];
  records.forEach((row, i) => {
    if (recording.isRefusal(row)) refusals.push({ a: row.t, b: row.t, label: row.k, why: row.w, state: row.s, kind: row.q, i });
  });
  return {
    user: user(), agent: agent(), pauses: between((r) => does(r, "pause_output"), resumes),
    tools: tools(), states: states(), refusals,
  };
}

// What was said, and the tools that were called, in the order in which each began.
function conversationOf(recording, lanes) {
  const messages = recording.records.filter((row) => row.m === "message");
  const heard = [
    ...lanes.user.filter((s) => s.row).map((s) => ({ t: s.a, who: "user", text: s.label, interrupted: false })),
    ...lanes.agent.filter((s) => s.row).map((s) => ({ t: s.a, who: "agent", text: s.label, interrupted: s.interrupted })),
  ];
  const speech = heard.length ? heard : messages.map((row) => ({
    t: row.b ?? row.t,
    who: row.x && row.x.role === "assistant" ? "agent" : String((row.x && row.x.role) || "user"),
    text: row.x && typeof row.x.text === "string" ? row.x.text : "",
    interrupted: Boolean(row.x && row.x.interrupted),
  }));
  const calls = lanes.tools.map((span) => ({ t: span.a, who: "tool", text: span.label, until: span.b, how: span.open ? "" : span.kind }));
  return [...speech, ...calls].sort((one, other) => one.t - other.t);
}
