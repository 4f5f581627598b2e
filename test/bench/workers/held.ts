// The floor of an idle stream: a worker holds it and writes a comment now and then. No object, no session.
const keepAliveMs = 25_000
const encoder = new TextEncoder()
const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }

export default {
  fetch(): Response {
    let timer: ReturnType<typeof setInterval>
    const body = new ReadableStream<Uint8Array>({
      start(out) {
        out.enqueue(encoder.encode(': open\n\n'))
        timer = setInterval(() => out.enqueue(encoder.encode(': keep-alive\n\n')), keepAliveMs)
      },
      cancel: () => clearInterval(timer),
    })
    return new Response(body, { headers })
  },
}
