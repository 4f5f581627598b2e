// Changes that others make, in a Worker of the test's choice, and what a client hears of them.
import { randomUUID } from 'node:crypto'
import { connectRaw } from './raw.mjs'

/** The two a server on wrangler dev has. One on bare workerd is one, and answers whatever is asked for. */
export const WORKERS = ['first', 'second']

/** A place whose weather nobody else watches. */
export function newPlace() {
  return randomUUID().slice(0, 8)
}

export function uriOf(place) {
  return `weather://${place}`
}

/** Has another client call the tool `change` in one of the Workers of the server behind a wire. */
export async function change(wire, worker, args) {
  await connectRaw(wire.direct, { worker }).callTool('change', args)
}

/** The URIs that are said to have changed, in order. */
export function updatesOf(messages) {
  return messages.filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params.uri)
}
