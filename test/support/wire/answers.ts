// Plays the user in multi round-trip requests: repeats a request with `inputResponses` and `requestState` until the
// result is complete. See basic/patterns/mrtr.

import type { JsonObject } from './revisions.ts'
import type { AnyResult, InputRequest, Round } from './results.ts'

/** What to answer to one key: a value, or a function of what is asked; `undefined` leaves the key unanswered. */
export type Answer = JsonObject | ((request: InputRequest, round: number) => JsonObject | undefined)

export interface Answered<Result> {
  /** The rounds that asked something, in order. */
  rounds: Round[]
  /** The complete result. */
  result: Result
}

const MAX_ROUNDS = 20

export async function converse<Result extends AnyResult>(
  send: (retry: JsonObject) => Promise<Result>,
  answers: Record<string, Answer>,
): Promise<Answered<Result>> {
  const rounds: Round[] = []
  let result = await send({})
  while (result.resultType === 'input_required') {
    const { inputRequests = {}, requestState } = result
    rounds.push({ inputRequests, ...(requestState === undefined ? {} : { requestState }) })
    if (rounds.length > MAX_ROUNDS)
      throw new Error(`Could not finish a conversation: round ${rounds.length} still asks`)
    const inputResponses = respond(inputRequests, answers, rounds.length)
    result = await send({ inputResponses, ...(requestState === undefined ? {} : { requestState }) })
  }
  return { rounds, result }
}

function respond(
  inputRequests: Record<string, InputRequest>,
  answers: Record<string, Answer>,
  round: number,
): JsonObject {
  const entries = Object.entries(inputRequests).map(([key, request]) => {
    const answer = answers[key]
    if (answer === undefined) throw new Error(`Could not answer round ${round}: nothing is prepared for "${key}"`)
    return [key, typeof answer === 'function' ? answer(request, round) : answer]
  })
  return Object.fromEntries(entries)
}
