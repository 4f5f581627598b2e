// Batches, which only 2025-03-26 has: an array of requests and notifications, or of answers.
// @see 2025-03-26 basic/index, Batching; basic/transports, Sending Messages

import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import {
  isObject,
  parseMessage,
  type JsonRpcAnswer,
  type JsonRpcNotification,
  type JsonRpcRequest,
} from '../protocol/json-rpc.ts'
import { META } from '../protocol/meta.ts'

/** What a batch holds: answers, or the two others. */
export interface Batch {
  requests: JsonRpcRequest[]
  notifications: JsonRpcNotification[]
  answers: JsonRpcAnswer[]
}

/**
 * The messages of a batch that may be served.
 * @param version the revision of the session, else the MCP-Protocol-Version header. A batch without either is
 * 2025-03-26 by its shape.
 * @throws {ProtocolError} InvalidRequest: a batch is refused as a whole
 */
export function checkBatch(body: readonly unknown[], version: string | null): Batch {
  if (version !== null && version !== '2025-03-26') throw refused(`'${version.slice(0, 64)}' has no batches`)
  if (body.length === 0) throw refused('it is empty')
  if (body.length > limits.batchMessages) throw refused(`it has more than ${limits.batchMessages} messages`)
  const messages = body.map(parseMessage)
  const batch: Batch = { requests: [], notifications: [], answers: [] }
  for (const [i, message] of messages.entries()) {
    if (message.kind === 'invalid') throw refused(`message ${i}: ${message.reason}`)
    if (message.kind === 'answer') {
      batch.answers.push(message)
      continue
    }
    if (message.method === 'initialize') throw refused('initialize may not be in one')
    if (isObject(message.params['_meta']) && message.params['_meta'][META.protocolVersion] !== undefined) {
      throw refused(`message ${i} is modern, and modern revisions have no batches`)
    }
    if (message.kind === 'request') batch.requests.push(message)
    else batch.notifications.push(message)
  }
  const answers = batch.answers.length
  if (answers > 0 && answers < messages.length) throw refused('it mixes answers with requests')
  return batch
}

function refused(reason: string): ProtocolError {
  return new ProtocolError('InvalidRequest', `Invalid request: the batch is refused, ${reason}`)
}
