/**
 * An OpenID Connect provider and an authenticator app for the tests in a browser: those of the
 * backend's tests.
 */
export { codeOf } from '../backend/src/domains/sessions/testing/authenticator.ts'
export {
  clientId,
  clientSecret,
  realProvider,
} from '../backend/src/domains/sessions/testing/provider.ts'
