// The errors a handler may throw and what the other side sees of them.
// `ProtocolError` becomes a JSON-RPC error, `ToolError` a tool result; anything else only "Internal error".

export { ProtocolError } from '../protocol/errors.ts'

/**
 * A failure the model should read and act on: the only error whose text it sees.
 * In a tool it becomes a result with `isError`; in a prompt or resource a JSON-RPC error.
 * @see server/tools, Error Handling
 */
export class ToolError extends Error {
  override readonly name: string = 'ToolError'
}

/** The client answered an ask with an error, or never with anything that fits. A tool error unless caught. */
export class AskError extends ToolError {
  override readonly name = 'AskError'
  /** The key of the ask. */
  readonly key: string

  constructor(key: string, message: string) {
    super(message)
    this.key = key
  }
}
