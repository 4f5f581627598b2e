// Which rung of the server's ladder ended a request. A handler counts when it noted the request's trace; the rest is
// told from the error. Only the few refusals that share a code and a status are told apart by their words.
import { ERRORS } from '../../src/protocol/errors.ts'
import { LADDER } from '../../src/protocol/era.ts'
import { META } from '../../src/protocol/meta.ts'
import { isListening } from './listen-oracle.mjs'

const BELOW = ['unseal', 'cursor', 'listen cursor', 'task id', 'answered', 'task', 'listen', 'handler']
/** In the order in which a request passes them. `http` and `one way` come before or beside the ladder. */
export const RUNGS = ['runtime', 'http', 'one way', ...LADDER.map(({ rung }) => rung), ...BELOW]

const CLASSIFIED = new Set(RUNGS.slice(RUNGS.indexOf('headers')))
const DEEP = new Set(['unseal', 'cursor', 'listen cursor', 'handler'])
const TASK = new Set(['task id', 'task'])

/** True for a request that was valid JSON-RPC and whose era was settled. */
export const isClassified = (rung) => CLASSIFIED.has(rung)
/** True for a request that a handler, the unsealing of a state or the decoding of a cursor had to deal with. */
export const isDeep = (rung) => DEEP.has(rung)
/** True for a request that became a stream of changes, or wanted to go on with one. */
export const isAboutChanges = (rung) => rung === 'listen' || rung === 'listen cursor'
/** True for a request that became a task or was answered by one, or whose id was looked for among them. */
export const isAboutTasks = (rung) => TASK.has(rung)

const codeOf = (name) => ERRORS[name].code

/** @param messages of the answer; @param handlers that noted the request's trace */
export function rungOf({ status, headers, isCut }, messages, handlers) {
  // What is left is waiting for a task, or listening.
  if (isCut) return isListening(messages) ? 'listen' : 'task'
  if (status === undefined || !headers.has('access-control-allow-origin')) return 'runtime'
  const responses = messages.filter(({ method }) => method === undefined)
  // Whether its handler has run by now is chance.
  if (responses.some(({ result }) => result && isOfTask(result))) return 'task'
  if (handlers.length > 0) return 'handler'
  if (status === 202) return 'one way'
  if (responses.length === 0) return 'http'
  // Of a batch the answer that got furthest.
  return responses
    .map((response) => rungOfResponse(response, status))
    .reduce((a, b) => (RUNGS.indexOf(b) > RUNGS.indexOf(a) ? b : a))
}

/** True for a task, a list of them, what one came to, and the answer to an update, which is empty. */
function isOfTask({ resultType, task, taskId, tasks, _meta, ...others }) {
  if (task || taskId || tasks || _meta?.[META.relatedTask]) return true
  return resultType === 'complete' && Object.keys(others).length === 0
}

function rungOfResponse({ result, error }, status) {
  if (result) return /^(Invalid arguments for|Missing required)/.test(result.content?.[0]?.text) ? 'params' : 'answered'
  const { code, message } = error
  if (status === 413 || status === 415 || code === codeOf('ParseError')) return 'json'
  switch (code) {
    case codeOf('InvalidRequest'):
      return status === 400 ? 'shape' : 'http'
    case codeOf('HeaderMismatch'):
      if (message.includes('MCP-Protocol-Version')) return 'agreement'
      return message.includes('Mcp-Param-') ? 'param-headers' : 'headers'
    case codeOf('UnsupportedProtocolVersion'):
      return 'version'
    case codeOf('MethodNotFound'):
      return 'method'
    case codeOf('MissingRequiredClientCapability'):
      return 'capability'
    case codeOf('InvalidParams'):
      if (status === ERRORS.InvalidEnvelope.modern) return 'envelope'
      if (message.includes('requestState is not valid')) return 'unseal'
      if (message.endsWith('no such task')) return 'task id'
      if (message.includes('cursor is from no stream')) return 'listen cursor'
      // What a task's handler says is not what refused the request.
      if (/the task cannot be cancelled|refused by the handler/.test(message)) return 'task'
      return message.includes('cursor is none') ? 'cursor' : 'params'
    case codeOf('InternalError'):
      return message === 'Task was cancelled' ? 'task' : 'params'
    default:
      return 'params'
  }
}
