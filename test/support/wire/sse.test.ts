// The stream reader: what it counts, what it refuses, and that the cut between two chunks means nothing.

import { describe, expect, it } from 'vitest'
import { stream } from './fake-server.ts'
import { createSseLog, createSseReader } from './sse.ts'
import type { SseBlock } from './sse.ts'

async function readAll(...parts: (string | Uint8Array)[]) {
  const log = createSseLog()
  const reader = createSseReader(stream(...parts).body!, log)
  const blocks: SseBlock[] = []
  for (let block = await reader.next(); block !== undefined; block = await reader.next()) blocks.push(block)
  return { log, blocks }
}

describe('createSseReader', () => {
  it('counts comments and collects ids and retries', async () => {
    const { log, blocks } = await readAll(': a\n\n:\n\nid: 7\nretry: 250\ndata: {}\n\nretry: 9\n\n')
    expect(log).toMatchObject({ comments: 2, ids: ['7'], retries: ['250', '9'] })
    expect(blocks.map(({ kind }) => kind)).toEqual(['comment', 'comment', 'event', 'fields'])
  })

  it('joins data lines and takes either line ending', async () => {
    const { blocks } = await readAll('event: message\r\ndata: {\r\ndata: }\r\n\r\ndata:[]\n\n')
    expect(blocks).toEqual([
      { kind: 'event', data: '{\n}' },
      { kind: 'event', data: '[]' },
    ])
  })

  it('reads the same from any two halves, also inside a character', async () => {
    const bytes = new TextEncoder().encode(': ✓\r\n\r\nid: 1\ndata: "Grüße, 世界 👋"\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { blocks, log } = await readAll(bytes.slice(0, cut), bytes.slice(cut))
      expect(blocks).toEqual([{ kind: 'comment' }, { kind: 'event', id: '1', data: '"Grüße, 世界 👋"' }])
      expect(log.text).toContain('👋')
    }
  })

  it.each([
    ['another event type', 'event: endpoint\ndata: {}\n\n', /unexpected line: "event: endpoint"/],
    ['an unknown field', 'data: {}\nfoo: bar\n\n', /unexpected line: "foo: bar"/],
    ['a line without a field', '{"jsonrpc":"2.0"}\n\n', /unexpected line/],
    ['a retry that is no number', 'retry: soon\n\n', /retry that is not a number/],
    ['an end inside an event', 'data: {}\n', /ends inside an event/],
    ['an end inside a line', 'data: {}\n\ndata', /ends inside an event/],
    ['a byte order mark', '\uFEFFdata: {}\n\n', /unexpected line/],
    ['broken UTF-8', new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a]), /not valid UTF-8/],
    ['a character that never ends', new Uint8Array([0x3a, 0xf0, 0x9f]), /not valid UTF-8/],
  ])('refuses %s', async (_, part, because) => {
    await expect(readAll(part)).rejects.toThrow(because)
  })
})
