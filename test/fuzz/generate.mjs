// All requests of a run: for one seed always the same, apart from what the server sealed.
import { createHash } from 'node:crypto'
import { batches, cursors } from './mutate-lists.mjs'
import { sessions } from './mutate-sessions.mjs'
import { answers, forgeries, states } from './mutate-states.mjs'
import { headers } from './mutate-headers.mjs'
import { framings, routes } from './mutate-http.mjs'
import { envelopes, everyPath, ids, members, oneWay, valid, wrongType } from './mutate-json.mjs'
import { declarations, taskAnswers, taskCalls, taskCreations, taskIds, taskLists } from './mutate-tasks.mjs'
import { taskNames, taskWaits } from './mutate-tasks.mjs'
import { listenCursors, listenDeclarations, listenFilters, listenLists, touches } from './mutate-listen.mjs'
import { completions, formats, inheritedNames, toolArguments, uris } from './mutate-params.mjs'
import { depths, texts } from './mutate-text.mjs'
import { createRandom } from '../support/random.mjs'
import { toBytes } from './requests.mjs'
import { sizes } from './sizes.mjs'

const MUTATIONS = [
  [18, wrongType],
  [9, members],
  [7, envelopes],
  [14, toolArguments],
  [2, formats],
  [7, inheritedNames],
  [4, ids],
  [8, texts],
  [3, depths],
  [3, oneWay],
  [4, completions],
  [5, uris],
  [4, cursors],
  [8, states],
  [8, answers],
  [5, batches],
  [5, sessions],
  [6, taskIds],
  [5, taskAnswers],
  [5, taskCreations],
  [3, declarations],
  [2, taskNames],
  [2, taskLists],
  [1.5, taskWaits],
  [3, taskCalls],
  [7, listenFilters],
  [2, listenLists],
  [3, listenDeclarations],
  [5, listenCursors],
  [3, touches],
  [13, headers],
  [4, routes],
  [4, framings],
  [3, valid],
]

/** `count` requests, no two of them alike. @param known states, cursors, sessions and tasks the server handed out */
export function generate(seed, count, known) {
  const random = createRandom(seed)
  const seen = new Set()
  const requests = []
  const add = (request) => {
    const key = createHash('sha1').update(toBytes(request)).digest('base64')
    if (seen.has(key)) return
    seen.add(key)
    requests.push(request)
  }
  const expensive = sizes(known)
  const interval = Math.max(1, Math.floor(count / expensive.length))
  const systematic = [...everyPath(random, known), ...forgeries(known)]
  while (requests.length < count) {
    if (expensive.length > 0 && requests.length % interval === 0) add(expensive.shift())
    add(systematic.pop() ?? random.weighted(MUTATIONS)(random, known))
  }
  return requests
}
