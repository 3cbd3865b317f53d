// What `npm start` serves: the example agents on one port.
export { default, default as hello } from "./hello.js";
export { default as librarian } from "./librarian.js";
export { default as polyglot } from "./polyglot.js";
export { default as slow } from "./slow.js";
export { default as trip } from "./trip.js";
