// Why a token is not taken: said to its bearer in a few words, and to the operator in more.

/** A token that is not taken. Not for issuers that cannot be reached: that is `IssuerError`. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  /** For the operator. Never the token, nor claims other than `iss` and `aud`. */
  readonly detail: string

  /** @param message for whoever holds the token: `error_description` of the challenge */
  constructor(message: string, detail: string = message) {
    super(message)
    this.detail = detail
  }
}

/** Whether a token is good cannot be told now: its issuer cannot be reached, or makes no sense. */
export class IssuerError extends Error {
  override readonly name: string = 'IssuerError'
}

/** A token names a key that may be new, and its issuer was asked too often for keys that were none. Anybody can bring that about. */
export class UnknownKeyError extends IssuerError {
  override readonly name = 'UnknownKeyError'
}
