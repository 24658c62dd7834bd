// Python of the playground: proves the text that it is told, and presses triggers on its flow.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const START = `
import json, sys
sys.path.insert(0, "/python")
from turnfsm.runtime.view.flow_page import FlowFile

file = None

def prove(name, text):
    global file
    with open(name, "w", encoding="utf-8") as to:
        to.write(text)
    if file is None:
        file = FlowFile(name)
    else:
        file.read()
    return json.dumps(file.data, default=str)

def press(presses):
    simulation = file.simulate(json.loads(presses))
    if simulation is None:
        raise ValueError("the text is no flow")
    return json.dumps(simulation, default=str)
`;

async function start() {
  const [python, packages] = await Promise.all([loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }), fetch(new URL("packages.zip", import.meta.url))]);
  if (!packages.ok) throw new Error(`packages.zip: ${packages.status} ${packages.statusText}`);
  python.unpackArchive(await packages.arrayBuffer(), "zip", { extractDir: "/python" });
  python.runPython(START);
  return python;
}

const short = (error) => String(error).match(/^\w*(Error|Exception): .*/gm)?.at(-1) ?? String(error);

const started = start();
started.then(() => postMessage({ loaded: true }), (error) => postMessage({ trouble: short(error) }));

onmessage = async ({ data: { id, name, text, presses } }) => {
  const python = await started;
  try {
    const answer = text === undefined ? python.globals.get("press")(JSON.stringify(presses)) : python.globals.get("prove")(name, text);
    postMessage({ id, answer: JSON.parse(answer) });
  } catch (error) {
    postMessage({ id, trouble: short(error) });
  }
};
