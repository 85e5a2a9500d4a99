/** A path that no schema can have: of an answer to it the headers are all that counts. */
export const probePath = "holdfast.v1/probe";
