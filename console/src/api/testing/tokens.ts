/** Shared by the tests of the session: stored tokens without a browser. */

/** A stand-in for the browser's Storage, with only the methods that the tested code uses. */
export class Kept extends Map<string, string> {
  getItem = (key: string) => this.get(key) ?? null
  setItem = (key: string, value: string) => void this.set(key, value)
  removeItem = (key: string) => void this.delete(key)
}

export const user = { id: 'u1', email: 'a@example.com', name: 'A' }

/** An access token with this life. */
export const token = (name: string, lifeSeconds: number, scopes: string[] = []) => {
  const iat = Math.floor(Date.now() / 1000)
  return `e30.${btoa(JSON.stringify({ sub: 'u1', sid: 's1', iat, exp: iat + lifeSeconds, scopes, name }))}.sig`
}
