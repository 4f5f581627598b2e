// The bindings, variables and secrets of this app, as types: what `ctx.env` has beside the server's own.

declare namespace Cloudflare {
  interface Env {
    NOTES: DurableObjectNamespace<import('./notes/notes-object.ts').NotesObject>
  }
}
