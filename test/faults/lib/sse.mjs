// Server-sent events as they came: the text of each event is kept, so that transcripts can be compared byte for byte.

/** Yields whole events and comments. What a cut connection left unfinished is dropped, as a client does. */
export async function* readEvents(body) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const raw = text.slice(0, end + 2)
      text = text.slice(end + 2)
      yield parseEvent(raw)
    }
  }
}

/** `isEvent` is false for comments and for `retry:` alone. Ids are what marks the session, `<stream>.<sequence>`. */
export function parseEvent(raw) {
  const fields = {}
  for (const line of raw.split('\n')) {
    const [, name, value] = /^(id|event|data|retry): ?(.*)$/.exec(line) ?? []
    if (name) fields[name] = value
  }
  const { id, data, retry } = fields
  const [, tag, stream, sequence] = /^(.*[^0-9])(\d+)\.(\d+)$/.exec(id ?? '') ?? []
  const place = tag === undefined ? {} : { tag, stream: Number(stream), sequence: Number(sequence) }
  const message = data ? JSON.parse(data) : undefined
  return { raw, id, message, retryMs: retry && Number(retry), isEvent: data !== undefined, ...place }
}
