// Many streams held open on raw sockets. It costs the machine little: what comes is counted and timed, and kept as text.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeListen, verifyBeginning } from '../listen-scenarios.mjs'

const atOnce = 64
const giveUpMs = 60_000
/** A message ends so, in every worker's answer. A comment does not. */
const messageEnd = '}\n\n'

/** The listeners of one worker, which is named in errors. */
export function createCrowd(name) {
  const streams = []
  // Every read is taken out of it before the next.
  const buffer = Buffer.alloc(65_536)
  /** When each message came. */
  let times = []
  /** How many streams have been told anything. */
  let told = 0
  let lost = 0

  const receive = (stream, text) => {
    stream.text += text
    const ends = countEnds(stream.tail + text)
    stream.tail = (stream.tail + text).slice(1 - messageEnd.length)
    if (ends === 0) return
    const now = performance.now()
    for (let i = 0; i < ends; i++) times.push(now)
    if (stream.messages === 0) told += 1
    stream.messages += ends
    stream.begun?.()
  }

  const open = (port, i) =>
    new Promise((resolve, reject) => {
      const stream = { text: '', tail: '', messages: 0, begun: undefined, socket: undefined }
      const timer = setTimeout(() => reject(new Error(`${name} does not answer a listener`)), giveUpMs)
      stream.begun = () => {
        stream.begun = undefined
        clearTimeout(timer)
        streams.push(stream)
        resolve()
      }
      const callback = (size) => {
        receive(stream, buffer.latin1Slice(0, size))
        return true
      }
      stream.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
      stream.socket.on('error', () => stream.socket.destroy())
      stream.socket.on('close', () => {
        lost += 1
        reject(new Error(`${name} opens no stream: ${stream.text.slice(0, 400)}`))
      })
      stream.socket.write(encodeListen(i))
    })

  const until = async (isDone, what) => {
    const giveUpAt = performance.now() + giveUpMs
    while (!isDone()) {
      if (lost > 0) throw new Error(`${name} ended ${lost} of ${streams.length} streams`)
      if (performance.now() > giveUpAt) throw new Error(`${name}: ${told} of ${streams.length} listeners ${what}`)
      await sleep(1)
    }
  }

  return {
    get size() {
      return streams.length
    },
    get times() {
      return times
    },
    /** Opens `count` streams, each to the port of its number. @throws when one does not begin as it has to */
    async open(portOf, count) {
      const first = streams.length
      let next = first
      const some = async () => {
        while (next < first + count) {
          const i = next++
          await open(portOf(i), i)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, some))
      for (const { text } of streams.slice(first)) verifyBeginning(name, text)
    },
    /** Begins anew to count. */
    forget() {
      times = []
      told = 0
      for (const stream of streams) Object.assign(stream, { text: '', tail: '', messages: 0 })
    },
    /** Waits until `count` listeners have been told something, all of them unless it says. */
    told: (count = streams.length) => until(() => told >= count, 'are told'),
    /** Waits until nobody has been told anything for some time. */
    quiet: (ms) => until(() => performance.now() - (times.at(-1) ?? 0) > ms, 'are told, and it does not end'),
    /** What each was sent since it was forgotten. */
    texts: () => streams.map(({ text }) => text),
    close: () => streams.forEach(({ socket }) => socket.removeAllListeners('close').destroy()),
  }
}

function countEnds(text) {
  let count = 0
  for (let at = text.indexOf(messageEnd); at >= 0; at = text.indexOf(messageEnd, at + messageEnd.length)) count += 1
  return count
}
