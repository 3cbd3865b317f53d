import { create } from "@bufbuild/protobuf";
import { StreamResponseSchema } from "../a2a/types.js";
import type { StreamEvent, TaskStream } from "../client/task-stream.js";
import { type Output, partsText, stateText } from "./terminal.js";

/** Writes events as they come, one line of ProtoJSON each. Gives the last one. */
export async function writeEvents(events: TaskStream, output: Output): Promise<StreamEvent | undefined> {
  let last: StreamEvent | undefined;
  for await (const event of events) {
    last = event;
    output.json(StreamResponseSchema, create(StreamResponseSchema, { payload: event.payload }));
  }
  return last;
}

/** Prints events as they come: states on lines of their own, artifacts as they grow. Gives the last one. */
export async function printEvents(events: TaskStream, output: Output, label: string): Promise<StreamEvent | undefined> {
  let last: StreamEvent | undefined;
  let growing: string | undefined;
  let stop = output.spin(label);
  const line = (text: string): void => {
    if (growing !== undefined) output.write("\n");
    growing = undefined;
    output.line(text);
  };
  try {
    for await (const event of events) {
      stop();
      last = event;
      const { payload } = event;
      if (payload.case === "artifactUpdate") {
        const id = payload.value.artifact?.artifactId;
        if (growing !== undefined && growing !== id) output.write("\n");
        output.write(partsText(event.parts));
        growing = id;
      } else if (payload.case === "message") {
        line(partsText(event.parts));
      } else {
        const said = payload.case === "statusUpdate" ? partsText(event.parts) : "";
        line(`${stateText(event.state, output.color)}${said === "" ? "" : `  ${said}`}`);
      }
      if (growing === undefined) stop = output.spin(label);
    }
  } finally {
    stop();
    if (growing !== undefined) output.write("\n");
  }
  return last;
}
