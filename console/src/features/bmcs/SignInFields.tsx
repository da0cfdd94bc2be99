import type { UseQueryResult } from '@tanstack/react-query'
import type { bmcCredentialList } from '#contract/bmcs/credentials.ts'
import type { Answer } from '#contract/operation.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'

/** The fields of a form that say with what Steelyard signs in on a BMC. */
interface TypedSignIn {
  /** `credential`, `own`, or another choice, which has no further fields. */
  signIn: string
  credential_id: string
  username: string
  password: string
}
const { Choose, Text } = fieldsFor<TypedSignIn>()

interface SignInFieldsProps {
  signIn: string
  options: readonly { value: string; text: string }[]
  credentials: UseQueryResult<Answer<typeof bmcCredentialList>>
}

/** With what Steelyard signs in: a credential of several BMCs, or a user name and a password. */
export const SignInFields = ({ signIn, options, credentials }: SignInFieldsProps) => (
  <>
    <Choose name="signIn" label="Sign in with" options={options} />
    {signIn === 'credential' && (
      <>
        <Unread what="The credentials" of={credentials} />
        <Choose
          name="credential_id"
          label="Credential"
          placeholder={credentials.data?.total === 0 ? 'No credentials yet' : 'Choose a credential'}
          options={(credentials.data?.items ?? []).map((c) => ({
            value: c.id,
            text: c.name,
            more: c.username,
          }))}
        />
      </>
    )}
    {signIn === 'own' && (
      <>
        <Text name="username" label="User name" mono autoCapitalize="none" />
        <Text name="password" label="Password" type="password" />
      </>
    )}
  </>
)
