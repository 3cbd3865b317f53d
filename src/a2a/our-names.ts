/** One base for the URIs of our own bindings and extensions (§5.8, §4.6). */
const OUR_URI = "urn:nuncio:";

/** gRPC-Web, as a custom binding (§12). */
export const GRPC_WEB_BINDING = `${OUR_URI}binding:grpc-web:v1`;
/** Connect, as a custom binding (§12). */
export const CONNECT_BINDING = `${OUR_URI}binding:connect:v1`;

/** A message names the skill it is for in its metadata, under {@link SKILL_METADATA}. */
export const SKILL_EXTENSION = `${OUR_URI}extension:skill:v1`;
/** The key of a message's metadata that names its skill. */
export const SKILL_METADATA = "skill";

/** A message that is sent again under the same id is taken once. */
export const DEDUPLICATION_EXTENSION = `${OUR_URI}extension:message-id:v1`;

/**
 * Streams resume after a position (§12.5): `Last-Event-ID` on SubscribeToTask. Who activates this finds the position of each event in
 * the event's metadata under this URI, also on the wires that have no place of their own for it.
 */
export const RESUME_EXTENSION = `${OUR_URI}extension:resume:v1`;

/** The other agents of a server, on its default agent's card: `params.agents` lists the name of each and the address of its card. */
export const AGENTS_EXTENSION = `${OUR_URI}extension:agents:v1`;
