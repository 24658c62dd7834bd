// The same cycle on XState: rows and cycle come as JSON on standard input, figures go out as JSON.
import { readFileSync } from "node:fs";
import { assign, createActor, setup } from "xstate";

const { rows, cycle, states, initial, replies, rounds } = JSON.parse(readFileSync(0, "utf8"));

const actions = {
  hear: assign({ user_speaking: true }),
  hush: assign({ user_speaking: false }),
  begin_tools: assign({ tools_running: true }),
  end_tools: assign({ tools_running: false }),
  reply: assign({ replies: ({ context }) => context.replies + 1 }),
};
const guards = {
  user_speaking: ({ context }) => !context.user_speaking,
  tools_running: ({ context }) => !context.tools_running,
};
const nodes = Object.fromEntries(states.map((name) => [name, { on: {} }]));
for (const row of rows) {
  const body = { actions: row.actions };
  if (row.dest) body.target = row.dest;
  if (row.unless.length) body.guard = row.unless[0];
  (nodes[row.source].on[row.trigger] ??= []).push(body);
}
const machine = setup({ actions, guards }).createMachine({
  initial,
  context: { user_speaking: false, tools_running: false, replies: 0 },
  states: nodes,
});
const actor = createActor(machine).start();

for (const [trigger, state] of cycle) {
  actor.send({ type: trigger });
  if (actor.getSnapshot().value !== state) throw new Error(`${trigger} did not lead to ${state}`);
}
if (actor.getSnapshot().context.replies !== replies) throw new Error("wrong number of replies");

const triggers = cycle.map(([trigger]) => trigger);
const times = [];
for (let round = 0; round < rounds; round++) {
  const begin = process.cpuUsage();
  for (let i = 0; i < 1000; i++) for (const type of triggers) actor.send({ type });
  const spent = process.cpuUsage(begin);
  times.push(((spent.user + spent.system) * 1000) / (1000 * triggers.length));
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ ns: times[times.length >> 1], node: process.versions.node }));
