// How long the agent was waited for, and what that was spent on.

// The colour of a cause of silence, by name; a tool has its own everywhere.
const CAUSE_COLORS = { stt: "hearing", endpointing: "hearing", llm: "model", tts: "voice", output: "voice", output_held: "agent", tool_running: "tool", user_has_the_floor: "user", agent_heard: "agent", nothing_asked: "idle", refused: "refused", vad: "refused", no_audio: "refused" };
const colorOf = (cause) => CAUSE_COLORS[cause] ?? "hearing";

const hasWaits = ({ silences, responses }) => silences.length + responses.length > 0;

// The lane of the silences, and of the response to each turn, divided by cause. A response that a
// silence contains is not drawn again.
function drawWaits(timeline, y) {
  timeline.name("wait", y + 13);
  const { silences, responses } = timeline.recording;
  const inside = (one) => silences.some((s) => s.a <= one.a + 0.01 && one.b <= s.b + 0.01);
  const spans = [...silences, ...responses.filter((one) => !inside(one))].sort((one, other) => one.a - other.a);
  const seen = timeline.seen(spans);
  seen.forEach((span, k) => {
    for (const part of timeline.seen(span.parts)) drawPart(timeline, part, y);
    const box = timeline.boxOf(span, y + 2, 14), whole = `${(span.b - span.a).toFixed(2)} s`;
    const what = span.cause === undefined ? `response ${whole}` : `${whole} of silence: ${span.cause}`;
    timeline.hits.push([box, () => [what, ...span.parts.map((p) => `${p.cause} ${(p.b - p.a).toFixed(2)}`)].join(", ")]);
    const end = box.x + box.w + 4, next = k + 1 < seen.length ? timeline.x(seen[k + 1].a) : timeline.width;
    timeline.words(whole, end, y + 13, next - end - 4, timeline.color("quiet"), 10);
  });
  return y + LANE.wait;
}

function drawPart(timeline, part, y) {
  const box = timeline.boxOf(part, y + 2, 14), idle = part.cause === "nothing_asked";
  timeline.rounded(box, timeline.color(colorOf(part.cause)), 2);
  timeline.words(part.cause, box.x + 4, y + 13, box.w - 6, timeline.color(idle ? "soft" : "panel"), 10.5, 600);
}
