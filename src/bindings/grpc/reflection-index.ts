import { create, type DescExtension, type DescFile, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  ErrorResponseSchema,
  ExtensionNumberResponseSchema,
  FileDescriptorResponseSchema,
  ListServiceResponseSchema,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";

type Question = ServerReflectionRequest["messageRequest"];
type Answer = ServerReflectionResponse["messageResponse"];

/** Answers questions about some files and all that they import. Pure. */
export function createReflectionIndex(
  roots: readonly DescFile[],
  services: readonly string[],
): (question: Question) => Answer {
  const files = withImports(roots);
  const byName = new Map(files.map((file) => [file.proto.name, file]));
  const bySymbol = new Map(files.flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file] as const)));
  const extensions = files.flatMap(extensionsOf);

  return (question) => {
    switch (question.case) {
      case "fileByFilename":
        return fileAnswer(byName.get(question.value));
      case "fileContainingSymbol":
        return fileAnswer(bySymbol.get(question.value.replace(/^\./, "")));
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        const found = extensions.find(
          ({ extendee, number }) => extendee.typeName === containingType && number === extensionNumber,
        );
        return fileAnswer(found?.file);
      }
      case "allExtensionNumbersOfType": {
        if (!bySymbol.has(question.value)) return notFound();
        const numbers = extensions.filter(({ extendee }) => extendee.typeName === question.value);
        const value = { baseTypeName: question.value, extensionNumber: numbers.map(({ number }) => number) };
        return { case: "allExtensionNumbersResponse", value: create(ExtensionNumberResponseSchema, value) };
      }
      case "listServices": {
        const service = services.map((name) => ({ name }));
        return { case: "listServicesResponse", value: create(ListServiceResponseSchema, { service }) };
      }
      case undefined:
        return failure(Code.InvalidArgument, "The request asks nothing");
    }
  };
}

/** Each file once, imports first. */
function withImports(roots: readonly DescFile[]): DescFile[] {
  const seen = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (seen.has(file)) return;
    for (const dependency of file.dependencies) visit(dependency);
    seen.add(file);
  };
  for (const root of roots) visit(root);
  return [...seen];
}

/** Every full name that a file declares. */
function symbolsOf(file: DescFile): string[] {
  const symbols: string[] = [];
  for (const type of nestedTypes(file)) {
    symbols.push(type.typeName);
    if (type.kind === "message") {
      for (const { name } of [...type.fields, ...type.oneofs]) symbols.push(`${type.typeName}.${name}`);
    } else if (type.kind === "service") {
      for (const { name } of type.methods) symbols.push(`${type.typeName}.${name}`);
    } else if (type.kind === "enum") {
      // The values of an enum belong to the scope around it.
      const scope = type.typeName.slice(0, type.typeName.lastIndexOf(".") + 1);
      for (const { name } of type.values) symbols.push(scope + name);
    }
  }
  return symbols;
}

function extensionsOf(file: DescFile): DescExtension[] {
  return [...nestedTypes(file)].filter((type): type is DescExtension => type.kind === "extension");
}

function fileAnswer(file: DescFile | undefined): Answer {
  if (file === undefined) return notFound();
  const fileDescriptorProto = withImports([file])
    .reverse()
    .map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: create(FileDescriptorResponseSchema, { fileDescriptorProto }) };
}

function notFound(): Answer {
  return failure(Code.NotFound, "There is nothing of that name here");
}

function failure(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: create(ErrorResponseSchema, { errorCode, errorMessage }) };
}
