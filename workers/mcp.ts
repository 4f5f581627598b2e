// The Worker: puts the app's server, the ports and the routes together, and exports the object classes.

import { createListenHubObject } from '../durable-objects/listen-hub.ts'
import { ports } from '../durable-objects/ports.ts'
import { createSessionObject } from '../durable-objects/session.ts'
import { createTaskObject } from '../durable-objects/task.ts'
import { server } from '../src/app/server.ts'
import { createApp } from '../src/http/app.ts'

export { KeyRingObject } from '../durable-objects/key-ring.ts'
export { QuotaObject } from '../durable-objects/quota.ts'
export { PrincipalObject } from '../durable-objects/principal.ts'
export { Notifier } from './notifier.ts'
export { NotesObject } from '../src/app/notes/notes-object.ts'

export const SessionObject = createSessionObject(server)
export const TaskObject = createTaskObject(server)
export const ListenHubObject = createListenHubObject(server)

export default createApp({
  server,
  ...ports(server),
})
