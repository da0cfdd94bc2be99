/**
 * How long `waitFor` and the `findBy…` of Testing Library wait, in every test of a component. It only
 * ends a test that fails: the default of one second is too short on a busy machine.
 */
if (typeof document !== 'undefined') {
  const { configure } = await import('@testing-library/react')
  configure({ asyncUtilTimeout: 30_000 })
}
