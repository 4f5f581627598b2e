// The servers the clients are played against: the example and the extra server on wrangler dev, each as two Workers, and
// the extra server's bundle on bare workerd twice: once to be killed, and once with streams that end soon. More are
// started for who asks, the one with authorization among them.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildBundle, startWorkerd } from '../../support/server.mjs'
import { startAuthorized } from './authorized.mjs'
import { startPair } from './pair.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const example = join(root, 'wrangler.toml')
const config = join(root, 'test/interop/extra/wrangler.toml')
const quiet = { LOG: 'errors' }
/** Long enough to be used, short enough to be seen ending several times. Clients wait one second when they are not told. */
const shortLives = { STREAM_MAX_AGE_MS: 1_200, RETRY_MS: 300 }

/** Starts all of them; `folder` takes what they store. */
export async function startServers(folder) {
  const bundleDir = join(folder, 'bundle')
  const run = (more) => startWorkerd({ config, bundleDir, vars: quiet, ...more })
  const stateDir = join(folder, 'mortal')
  await buildBundle({ config, outdir: bundleDir })
  const [notes, extra, mortal, short] = await Promise.all([
    startPair({ config: example, folder: join(folder, 'notes'), vars: quiet }),
    startPair({ config, folder: join(folder, 'extra'), vars: quiet }),
    run({ stateDir }),
    run({ vars: { ...quiet, ...shortLives } }),
  ])
  const running = { notes, extra, mortal, short }
  let turn = Promise.resolve()
  let starting
  return {
    origin: (name) => running[name].origin,
    mortal: {
      /** Runs `work` when nobody else uses the mortal server. */
      use(work) {
        const mine = turn.then(work)
        turn = mine.catch(() => {})
        return mine
      },
      /** Kills it and starts it again on the same port with what it had stored. */
      async restart() {
        await running.mortal.kill()
        running.mortal = await run({ stateDir, port: mortal.port })
      },
    },
    /** Starts the extra server once more on wrangler dev. `restart` stops it and starts it with what it had stored. */
    async startOwn() {
      const name = `own-${Object.keys(running).length}`
      const options = { config, folder: join(folder, name), vars: quiet, persistTo: join(folder, name, 'state') }
      const first = (running[name] = await startPair(options))
      const restart = async () => {
        await running[name].stop()
        running[name] = await startPair({ ...options, port: first.port })
      }
      return { name, restart }
    },
    /** Starts the example with authorization on, once. */
    authorized: () => (starting ??= startAuthorized().then((started) => (running.authorized = started))),
    output: () =>
      Object.values(running)
        .map(({ output }) => output())
        .join('\n'),
    async stop() {
      // It may be on its way up when a client ends in an error.
      await starting?.catch(() => {})
      await Promise.all(Object.values(running).map((server) => server.stop()))
    },
  }
}
