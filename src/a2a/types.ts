/** The one door to the generated contract (`nuncio/types`): every message, its ProtoJSON form, its schema, both enums, the service. */
export * from "../../gen/lf/a2a/v1/a2a_pb.js";
