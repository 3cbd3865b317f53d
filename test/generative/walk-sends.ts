import { type Message, Role, type StreamResponse, type Task } from "nuncio/types";
import { TaskFold } from "../../src/client/task-fold.js";
import { message, send, taskOf, textOf } from "../contract/messages.js";
import { gate } from "../support/scripted-agent.js";
import { ModelTask } from "./model.js";
import { first, ofStream, refused, same, seenOf } from "./seen.js";
import { type At, type Caller, settled } from "./step.js";

const COMMANDS = ["Ada", "ask Which?", "work hard", "status a b c", "complete yes", "fail no", "reject not", "throw x"];
const MORE_COMMANDS = ["chunks a|b|c", "keep-open", "wait", "until-canceled"];

/** A message for a new task, or a direct reply. */
export async function begin(at: At): Promise<void> {
  const { caller, random } = at;
  const text = random.chance(0.12) ? "direct Hi" : command(at);
  const known = random.chance(0.4) ? random.maybe(caller.tasks)?.contextId : undefined;
  const contextId = known ?? (random.chance(0.3) ? `context ${random.below(4)} ${caller.name}` : "");
  const references = random.chance(0.15) ? caller.tasks.slice(0, 2).map(({ id }) => id) : [];
  // The id of an earlier message, with another content: another message.
  const used =
    random.chance(0.1) && text !== "direct Hi" ? random.maybe(caller.sent)?.request.message?.messageId : undefined;
  const said = message(used === undefined ? text : `Ada ${caller.sent.length}`, {
    contextId,
    referenceTaskIds: references,
    ...(used === undefined ? {} : { messageId: used }),
  });
  if (text === "direct Hi") return askDirectly(caller, said);
  await deliver(at, said, (id, given) => {
    same("the context that was asked for", given, contextId === "" ? given : contextId);
    if (given === "" || caller.tasks.some((task) => task.id === id)) throw new Error(`No new task: ${id} in ${given}`);
    const task = new ModelTask(id, given);
    caller.tasks.push(task);
    return task;
  });
}

/** A message for a task that is there (§3.4.3). */
export async function followUp(at: At): Promise<void> {
  const { caller, random, note } = at;
  const task = random.maybe(caller.tasks);
  if (task === undefined) return;
  const contextId = random.pick(["", task.contextId]);
  const said = message(command(at), { taskId: task.id, contextId });
  if (task.hasEnded) {
    note("ended");
    return refused("UNSUPPORTED_OPERATION", caller.handler.sendMessage(send(said), {}));
  }
  await deliver(at, said, () => task);
}

/** The same message once more (§3.3.1): nothing new happens, and the task is answered with as it is. Who may wait does, unless it works. */
export async function repeat({ caller, random, note }: At): Promise<void> {
  const sent = random.maybe(caller.sent);
  if (sent === undefined) return;
  const { request, task, replyId } = sent;
  const works = task !== undefined && !task.hasSettled;
  const again = send(request.message as Message, { returnImmediately: works || random.chance(0.5) });
  const streams = random.chance(0.4);
  note(request.message?.messageId, again.configuration?.returnImmediately, { streams });
  if (streams) {
    const frame = (await first(caller.handler.sendStreamingMessage(again, {}))) as StreamResponse;
    if (task !== undefined) return same("the first frame of a repeat", seenOf(taskOf(frame)), task.seen());
    return same(
      "the same reply",
      frame.payload.value?.$typeName === "lf.a2a.v1.Message" && frame.payload.value.messageId,
      replyId,
    );
  }
  const { payload } = await caller.handler.sendMessage(again, {});
  if (task === undefined) {
    return same("the same reply", payload.case === "message" ? payload.value.messageId : payload.case, replyId);
  }
  if (payload.case !== "task") throw new Error(`A repeat of a task gave a ${payload.case}`);
  same("the answer to a repeat", seenOf(payload.value), task.seen());
}

/** Lets a run go on that waits. */
export async function openGate({ caller, random, note }: At): Promise<void> {
  const task = random.maybe(caller.tasks.filter(({ waitsFor }) => typeof waitsFor === "object"));
  if (task === undefined || typeof task.waitsFor !== "object") return;
  note(task.id, task.waitsFor.gate);
  gate(task.waitsFor.gate).open();
  task.goOn();
  await settled(caller, task);
}

async function askDirectly(caller: Caller, said: Message): Promise<void> {
  const request = send(said);
  const { payload } = await caller.handler.sendMessage(request, {});
  if (payload.case !== "message") throw new Error(`A direct reply was due, not a ${payload.case}`);
  same("reply", [textOf(payload.value), payload.value.role], ["Hi", Role.AGENT]);
  caller.sent.push({ request, task: undefined, replyId: payload.value.messageId });
}

/** Sends a message that will be accepted, in one of the three ways, and lets what it causes happen. */
async function deliver(at: At, said: Message, taskFor: (id: string, contextId: string) => ModelTask): Promise<void> {
  const { caller, random, note } = at;
  const historyLength = random.pick([undefined, undefined, 0, 1, 3]);
  const text = textOf(said);
  const busy = caller.tasks.find(({ id }) => id === said.taskId)?.waitsFor !== undefined;
  const settles = !busy && !/^(wait|until-canceled|keep-open)/.test(text);
  const way = random.pick(settles ? ["block", "return", "stream"] : ["return", "stream"]);
  const request = send(said, {
    returnImmediately: way === "return",
    ...(historyLength === undefined ? {} : { historyLength }),
  });
  note(way, said.taskId, text, { historyLength });
  const finish = (task: ModelTask) => {
    caller.sent.push({ request, task, replyId: undefined });
    return task;
  };
  if (way === "stream") {
    const events = caller.handler.sendStreamingMessage(request, {});
    return readTurn(events, (first) => {
      const task = taskFor(first.id, first.contextId);
      const accepted = task.receive(text, historyLength);
      same("first frame", seenOf(first), accepted);
      return finish(task);
    });
  }
  const answer = taskOf(await caller.handler.sendMessage(request, {}));
  const task = taskFor(answer.id, answer.contextId);
  const accepted = task.receive(text, historyLength);
  finish(task);
  same("answer", seenOf(answer), way === "return" ? accepted : task.seen(historyLength));
  if (way === "return") await settled(caller, task);
}

/** Reads a stream of a turn: to its end where it has one, else until its run waits. */
async function readTurn(events: AsyncIterable<StreamResponse>, begun: (first: Task) => ModelTask): Promise<void> {
  let fold: TaskFold | undefined;
  let task: ModelTask | undefined;
  let caughtUp = false;
  for await (const event of events) {
    if (caughtUp && task?.hasSettled) throw new Error("A stream went on after its turn was over");
    fold = new TaskFold(fold, event);
    task ??= begun(taskOf(event));
    const now = fold.task === undefined ? undefined : seenOf(fold.task);
    caughtUp = now?.state === task.state && now.said === task.said;
    if (!task.hasSettled && (caughtUp || task.unread.length > 0)) return;
  }
  if (fold?.task === undefined || task === undefined) throw new Error("A stream without events");
  const { state, said, artifacts } = seenOf(fold.task);
  same("the end of the stream", { state, said, artifacts }, ofStream(task.seen()));
}

/** What to tell the agent. */
function command({ random, gate }: At): string {
  const chosen = random.pick(random.chance(0.6) ? COMMANDS : MORE_COMMANDS);
  return chosen === "wait" ? `wait ${gate()}` : chosen;
}
