// Asks a workerd that was started with an inspector how much of its JavaScript heaps is in use, without garbage.
import { once } from 'node:events'

const giveUpMs = 20_000

/**
 * Collects garbage and returns what is left, in kB.
 * @param poke sends the worker a request: an isolate that does nothing does not listen to its inspector either
 */
export async function usedHeapKb(worker, poke) {
  const [heapKb] = await usedHeapsKb(worker, poke)
  return heapKb
}

/** The same for each service, in the order of their names. @param poke sends each of them a request */
export async function usedHeapsKb({ inspectorPort }, poke) {
  const response = await fetch(`http://127.0.0.1:${inspectorPort}/json`)
  const targets = await response.json()
  const heapsKb = []
  for (const { webSocketDebuggerUrl } of targets.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    heapsKb.push(await usedHeapOf(webSocketDebuggerUrl, poke))
  return heapsKb
}

async function usedHeapOf(webSocketDebuggerUrl, poke) {
  const socket = new WebSocket(webSocketDebuggerUrl)
  try {
    await once(socket, 'open')
    await command(socket, 'HeapProfiler.collectGarbage', poke)
    const { usedSize } = await command(socket, 'Runtime.getHeapUsage', poke)
    return usedSize / 1_024
  } finally {
    socket.close()
  }
}

async function command(socket, method, poke) {
  const signal = AbortSignal.timeout(giveUpMs)
  let reply
  socket.addEventListener('message', ({ data }) => (reply = JSON.parse(data)), { once: true })
  socket.send(JSON.stringify({ id: 1, method }))
  while (!reply) {
    signal.throwIfAborted()
    await poke()
  }
  return reply.result
}
