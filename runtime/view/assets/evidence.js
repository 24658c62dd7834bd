// What the user said over the agent was taken for, and how that changed with each word.

const JUDGED = ["interim_transcript", "final_transcript", "ignore_turn", "turn_committed"];
const DETECTED = { interruption_detected: "interruption", backchannel_detected: "backchannel" };
const OVER_THE_AGENT = ["speaking", "paused"];

// One row for each judgement: who judged, what they said, what they said before, what the flow did.
function evidenceOf(recording) {
  const { records, flow } = recording, rows = [];
  const classified = records.filter((row) => row.m === "classified");
  let before = null, since = 0;
  records.forEach((row, i) => {
    if (row.k === "user_started_speaking") [before, since] = [null, row.t];
    if (!(OVER_THE_AGENT.includes(row.s) && (JUDGED.includes(row.k) || DETECTED[row.k])) && row.k !== "ignore_turn") return;
    const holds = recording.factsAt(i).map((n) => recording.factNames[n]).filter((name) => flow.facts[name].judged);
    const says = DETECTED[row.k] ?? (holds.join(", ") || "other words");
    // its note follows the decision that has asked the classifier
    const own = classified.some((c) => since <= c.t && c.t < row.t + 0.001 && holds.includes(c.x.fact) === c.x.holds);
    const by = DETECTED[row.k] ? "detector" : own ? "classifier" : "phrases";
    const revised = before !== null && before.says !== says ? `${before.says}, ${(row.t - before.t).toFixed(2)} s before` : "";
    const done = [row.e ? row.d : "", ...(row.a ?? [])].filter(Boolean).join(", ");
    rows.push({ i, t: row.t, what: row.k, by, says, revised, did: row.q === undefined ? done || "nothing" : "refused" });
    before = { says, t: row.t };
  });
  return rows;
}

class EvidencePanel {
  constructor(box, onSeek) {
    Object.assign(this, { box, onSeek });
  }

  setup(recording) {
    const found = evidenceOf(recording);
    [this.found, this.rows, this.marked] = [found, [], null];
    if (!found.length) {
      this.box.replaceChildren(element("p", { class: "quiet" }, "The user has said nothing over the agent."));
      return;
    }
    const head = element("tr", {}, ...["at", "by", "evidence", "revised from", "the flow did"].map((name) => element("th", { scope: "col" }, name)));
    this.rows = found.map(({ i, t, what, by, says, revised, did }) => {
      const at = element("button", { type: "button", class: "link", onclick: () => this.onSeek(i) }, t.toFixed(2));
      return element("tr", { title: what }, element("th", { scope: "row" }, at), ...[by, says, revised, did].map((text) => element("td", { class: "outcome" }, text)));
    });
    this.box.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...this.rows)), element("p", { class: "quiet" }, "What the words of the user over the agent were taken for: by the phrases of the flow, a classifier of the application, or LiveKit's detector."));
  }

  // The latest evidence at this record.
  point(i) {
    const row = this.rows[this.found.findLastIndex((one) => one.i <= i)] ?? null;
    if (row === this.marked) return;
    this.marked?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    this.marked = row;
  }
}
