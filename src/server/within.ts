// Waiting for something no longer than it may take.

/**
 * What `work` comes to, if that is in time; what it comes to later is ignored.
 * @param late what is thrown when it takes longer
 */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  late: () => Error = () => new Error('it takes too long'),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(late()), ms)))
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}
