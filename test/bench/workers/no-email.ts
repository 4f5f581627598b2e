// Stands in for `cloudflare:email`, which agents imports and bare workerd has not.
export function EmailMessage(): never {
  throw new Error('nothing here sends mail')
}
