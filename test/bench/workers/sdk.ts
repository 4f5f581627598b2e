// The official SDK without authorization.
import { handler } from './sdk-handler.ts'

export default { fetch: (request: Request): Promise<Response> => handler.fetch(request) }
