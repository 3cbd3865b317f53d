/** What agents commonly hand around; anything else is said by whoever makes the part. */
const byExtension = new Map(
  Object.entries({
    txt: "text/plain",
    md: "text/markdown",
    csv: "text/csv",
    html: "text/html",
    htm: "text/html",
    css: "text/css",
    js: "text/javascript",
    mjs: "text/javascript",
    json: "application/json",
    xml: "application/xml",
    yaml: "application/yaml",
    yml: "application/yaml",
    pdf: "application/pdf",
    zip: "application/zip",
    gz: "application/gzip",
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    svg: "image/svg+xml",
    mp3: "audio/mpeg",
    wav: "audio/wav",
    ogg: "audio/ogg",
    mp4: "video/mp4",
    webm: "video/webm",
    docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  }),
);

/** A media type in lower case and without its parameters. */
export function essenceOf(mediaType: string): string {
  const end = mediaType.indexOf(";");
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}

/** The media type that the end of a file's name says, if it is a common one. */
export function mediaTypeOfFile(filename: string): string | undefined {
  return byExtension.get(filename.slice(filename.lastIndexOf(".") + 1).toLowerCase());
}
