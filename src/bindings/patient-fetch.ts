/** Where Node's `fetch` keeps what carries its requests, and where undici's `setGlobalDispatcher` puts another. */
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

let known: { readonly dispatcher: Dispatcher; readonly patient: Dispatcher } | undefined;

/**
 * The global `fetch`, without the limits of Node's own: it gives up when no answer has begun after 300 seconds, and when nothing has come
 * of one for as long. A send that waits may take longer, and so may the silence of a stream. What limits a call is its signal; a peer that
 * has gone is noticed by the kernel, for undici's connections probe theirs. Proxies and the like that were set for Node's `fetch` stay in
 * use. Elsewhere, and where Node should keep its dispatcher in another place, it is the global `fetch` as it is.
 */
export const patientFetch: typeof globalThis.fetch = (input, init) => {
  const dispatcher = patientDispatcher();
  return globalThis.fetch(input, dispatcher === undefined ? init : ({ ...init, dispatcher } as RequestInit));
};

function patientDispatcher(): Dispatcher | undefined {
  new Headers(); // Node loads its `fetch`, and makes its dispatcher, when something of it is first used
  const dispatcher = (globalThis as { [DISPATCHER]?: Dispatcher })[DISPATCHER];
  if (dispatcher === undefined) return undefined;
  if (known?.dispatcher !== dispatcher) known = { dispatcher, patient: patientOf(dispatcher) };
  return known.patient;
}

/** The same one, but for the limits of each request. */
function patientOf(dispatcher: Dispatcher): Dispatcher {
  const dispatch: Dispatcher["dispatch"] = (options, handler) =>
    dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  return Object.create(dispatcher, { dispatch: { value: dispatch } }) as Dispatcher;
}
