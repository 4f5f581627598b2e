// Lets another Worker say that something changed, through a service binding to this entrypoint. It serves no requests.

import { WorkerEntrypoint } from 'cloudflare:workers'
import { notifier } from '../durable-objects/ports.ts'
import type { Notifier as NotifierMethods } from '../src/server/index.ts'

/** `env.MCP.resourceUpdated('note://a')` of a Worker whose `[[services]]` names `entrypoint = "Notifier"`. */
export class Notifier extends WorkerEntrypoint<Cloudflare.Env> implements NotifierMethods {
  resourceUpdated(uri: string): Promise<void> {
    return notifier(this.env).resourceUpdated(uri)
  }

  resourcesListChanged(): Promise<void> {
    return notifier(this.env).resourcesListChanged()
  }

  toolsListChanged(): Promise<void> {
    return notifier(this.env).toolsListChanged()
  }

  promptsListChanged(): Promise<void> {
    return notifier(this.env).promptsListChanged()
  }
}
