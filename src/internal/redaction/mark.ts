/** The annotation of a schema that marks what it describes as a secret. */
export const secretMark = "~espalier/Redaction/secret"
