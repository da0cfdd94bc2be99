import { useQuery } from '@tanstack/react-query'
import { bmcAdd, bmcList } from '#contract/bmcs/bmcs.ts'
import { bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { blankBmcs, readBmcs, type TypedBmcs } from './add-bmcs.ts'
import { SignInFields } from './SignInFields.tsx'

const { Area, Choose } = fieldsFor<TypedBmcs>()

/** With what Steelyard signs in, once the certificates are confirmed. */
const signIns = [
  { value: 'credential', text: 'A credential for several BMCs' },
  { value: 'own', text: 'A user name and a password' },
  { value: 'later', text: 'Nothing yet, or what the CSV says' },
]

/** Looks at addresses for BMCs. `begun` is called with the id of the operation. */
export default function AddBmcs({ begun }: { begun: (operation: string) => void }) {
  const { close } = useDialog()
  const credentials = useQuery(query(bmcCredentialList, { query: { per_page: 1000 } }))
  const form = useForm({
    initial: blankBmcs,
    read: readBmcs,
    send: (body, key) => call(bmcAdd, { body }, { key }),
    done: async ({ operation }) => {
      await invalidate(bmcList)
      begun(operation.id)
      close()
    },
    // The form has one field for addresses, CIDR and CSV.
    at: ({ addresses, cidr, csv, ...rest }) => ({ ...rest, what: addresses ?? cidr ?? csv }),
  })
  const { signIn } = form.values
  const body = form.read.ok ? form.read.body : undefined
  const listed = body !== undefined && 'addresses' in body ? body.addresses : []
  const credential = credentials.data?.items.find((c) => c.id === form.values.credential_id)
  return (
    <FormDialog
      form={form}
      width="36rem"
      title="Add BMCs"
      submit="Look at them"
      can={allowed(bmcAdd)}
      command={
        <AsCommand
          complete={body !== undefined}
          {...(signIn !== 'own' &&
            body !== undefined &&
            !('csv' in body) && {
              cli: cliOf(['bmc', 'add', ...listed], {
                ...('cidr' in body && { cidr: body.cidr }),
                ...(body.port !== 443 && { port: String(body.port) }),
                credential: credential?.name,
              }),
            })}
          api={curlOf(
            bmcAdd,
            {},
            body === undefined ? {} : { ...body, ...('password' in body && { password: '…' }) },
          )}
        />
      }
    >
      <p className="fs13 t2">
        Steelyard reads the certificate of each BMC and what it tells without a sign-in. The
        password is sent after you have confirmed the certificate.
      </p>
      <Area
        name="what"
        label="Addresses, a CIDR, or CSV"
        hint="Addresses by lines or commas, one CIDR of at most a /22, or CSV whose first line is address,username,password,datacenter,rack,unit,labels"
        mono
        rows={5}
        autoComplete="off"
        autoCapitalize="none"
        placeholder={'10.0.8.11\n10.0.8.12'}
      />
      <Choose
        name="port"
        label="Port"
        options={[
          { value: '443', text: '443' },
          { value: '8443', text: '8443' },
        ]}
      />
      <SignInFields signIn={signIn} options={signIns} credentials={credentials} />
    </FormDialog>
  )
}
