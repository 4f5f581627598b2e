// The Worker under test as a fetcher. The module it needs exists in workerd only, so it is imported on first use.

const MODULE = 'cloudflare:workers'

/** The default export of the Worker under test; in Node it throws. */
export async function worker(request: Request): Promise<Response> {
  const { exports } = (await import(/* @vite-ignore */ MODULE)) as { exports: { default: { fetch: typeof worker } } }
  return exports.default.fetch(request)
}
