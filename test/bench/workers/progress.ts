// The events of a streaming call, the same for every worker.
export const progressText = (i: number): string => `Read part ${i} of the document and indexed its paragraphs`

/** An event as the workers without a library send it. */
export function progressMessage(progress: number, total: number): string {
  const params = { progressToken: 'bench', progress, total, message: progressText(progress) }
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })
}
