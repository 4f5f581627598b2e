// Which URLs of clients are fetched.

import { describe, expect, test } from 'vitest'
import { refuseOutbound } from '../../src/authorization/outbound.ts'

const policy = { issuer: 'https://auth.example.com', loopback: false }
const development = { issuer: 'http://localhost:8788', loopback: true }

describe('refuseOutbound lets through', () => {
  test.each([
    'https://app.example.com/client.json',
    'https://app.example.com:443/a?b=c',
    'https://xn--bcher-kva.example/x',
  ])('%s', (url) => expect(refuseOutbound(new URL(url), policy)).toBeUndefined())

  test('loopback on any port, for development', () => {
    for (const host of ['localhost:9443', '127.0.0.1', '[::1]:1']) {
      expect(refuseOutbound(new URL(`https://${host}/c`), development)).toBeUndefined()
    }
  })
})

describe('refuseOutbound refuses', () => {
  test.each([
    ['http', 'http://app.example.com/c'],
    ['another scheme', 'ftp://app.example.com/c'],
    ['this server', 'https://auth.example.com/authorize'],
    ['a port', 'https://app.example.com:8443/c'],
    ['loopback', 'https://localhost/c'],
    ['loopback with a dot', 'https://localhost./c'],
    ['a name below localhost', 'https://a.localhost/c'],
    ['127.0.0.0/8', 'https://127.1.2.3/c'],
    ['IPv6 loopback', 'https://[::1]/c'],
    ['an IPv4 address', 'https://93.184.215.14/c'],
    ['a private address', 'https://10.0.0.1/c'],
    ['a link-local address', 'https://169.254.169.254/c'],
    ['a decimal address', 'https://2852039166/c'],
    ['a hexadecimal address', 'https://0xa9.0xfe.0xa9.0xfe/c'],
    ['an octal address', 'https://0251.0376.0251.0376/c'],
    ['a short address', 'https://10.1/c'],
    ['full-width digits', 'https://１６９.254.169.254/c'],
    ['an IPv6 address', 'https://[2606:4700::1111]/c'],
    ['an IPv4 address in IPv6', 'https://[::ffff:169.254.169.254]/c'],
    ['a name without a dot', 'https://intranet/c'],
    ['a name without a dot, with one at its end', 'https://intranet./c'],
    ['.local', 'https://printer.local/c'],
    ['.internal', 'https://metadata.google.internal/c'],
    ['.home.arpa', 'https://nas.home.arpa/c'],
    ['.lan, with a dot at its end', 'https://nas.lan./c'],
  ])('%s', (_what, url) => expect(refuseOutbound(new URL(url), policy)).toEqual(expect.any(String)))

  test('all but loopback in development too', () => {
    for (const url of [
      'http://localhost/c',
      'https://10.0.0.1/c',
      'https://printer.local/c',
      'https://a.example:8443/c',
    ]) {
      expect(refuseOutbound(new URL(url), development), url).toEqual(expect.any(String))
    }
  })
})
