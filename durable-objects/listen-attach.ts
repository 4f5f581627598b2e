// How a listener asks a hub for a socket: an upgrade has no body, so what it wants is in its address and one header.

import { topicKey } from '../src/protocol/topic.ts'
import { LISTEN_PROTOCOL, type Listening, type ListenRefusal, type ListMarks } from '../src/server/listen-port.ts'

/** What the status of a response says that is no socket. */
export const REFUSAL_STATUS = { owner: 429, full: 503, moved: 410 } as const satisfies {
  [why in ListenRefusal]: number
}

/** Of topics only numbers get here; too many for an address. */
const TOPICS_HEADER = 'listen-topics'

/** A listener's wish, as a hub reads it. */
export interface Attach extends Omit<Listening, 'topics'> {
  topics: number[]
  /** False when it is of another version. */
  isKnown: boolean
}

export function attachRequest({ shard, owner, limit, topics, lists, after }: Listening): Request {
  const query = new URLSearchParams({
    protocol: String(LISTEN_PROTOCOL),
    shard: String(shard),
    owner,
    limit: String(limit),
    lists: JSON.stringify(lists),
    ...(after !== undefined && { after: String(after) }),
  })
  const keys = topics.map((topic) => topicKey(topic).toString(36)).join('.')
  return new Request(`http://hub/?${query}`, { headers: { upgrade: 'websocket', [TOPICS_HEADER]: keys } })
}

export function parseAttach({ url, headers }: Request): Attach {
  const query = new URL(url).searchParams
  const after = query.get('after')
  return {
    isKnown: Number(query.get('protocol')) === LISTEN_PROTOCOL,
    shard: Number(query.get('shard')),
    owner: query.get('owner') ?? '',
    limit: Number(query.get('limit')),
    lists: JSON.parse(query.get('lists') ?? '{}') as ListMarks,
    after: after === null ? undefined : Number(after),
    topics: (headers.get(TOPICS_HEADER) ?? '')
      .split('.')
      .filter(Boolean)
      .map((key) => Number.parseInt(key, 36)),
  }
}
