/** An OpenID Connect provider for the tests in a browser: the one of the backend's tests. */
export { clientId, clientSecret, realProvider } from '../backend/src/domains/sessions/testing/provider.ts'
