// The bundle on bare workerd, killed and started again on the same state and port.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildBundle, freePort, startWorkerd } from '../../support/server.mjs'

export const config = fileURLToPath(new URL('../wrangler.toml', import.meta.url))

const folders = []
process.on('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })))

/** A folder that is gone when this process is. */
export function makeFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `faults-${name}-`))
  folders.push(folder)
  return folder
}

export async function bundle() {
  const outdir = makeFolder('bundle')
  await buildBundle({ config, outdir })
  return outdir
}

export class KillableServer {
  #server
  #bundleDir
  #stateDir = makeFolder('state')
  #vars
  #workers
  #outputs = []
  /** How often it was killed. */
  kills = 0
  /** Of each Worker. */
  ports = []

  /** @param options variables, and how many Workers share the objects */
  constructor(bundleDir, { vars = {}, workers = 1 } = {}) {
    this.#bundleDir = bundleDir
    this.#vars = vars
    this.#workers = workers
  }

  get port() {
    return this.ports[0]
  }

  async start() {
    while (this.ports.length < this.#workers) {
      const found = await quietPort()
      if (!this.ports.includes(found)) this.ports.push(found)
    }
    const [port, ...otherPorts] = this.ports
    const [bundleDir, stateDir, vars] = [this.#bundleDir, this.#stateDir, this.#vars]
    this.#server = await startWorkerd({ bundleDir, config, stateDir, vars, port, otherPorts })
  }

  /** SIGKILL, and the same again from what is on disk. @param meanwhile looks at that while nothing runs */
  async kill(meanwhile) {
    this.kills++
    await this.#server.kill()
    this.#outputs.push(this.#server.output())
    await meanwhile?.()
    await this.start()
  }

  async stop() {
    await this.#server?.kill()
    this.#outputs.push(this.#server?.output() ?? '')
  }

  /** Where its objects are kept. */
  get stateDir() {
    return this.#stateDir
  }

  /** What each run printed. */
  get outputs() {
    return [...this.#outputs]
  }
}

/**
 * A port outside of the range the system gives to clients: one that keeps knocking while the server is down could be
 * given the very port it knocks at, and be connected to itself.
 */
async function quietPort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 16_000)
    const isFree = await freePort(port).catch(() => undefined)
    if (isFree) return port
  }
}
