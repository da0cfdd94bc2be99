import { serverAdd } from '#contract/servers/servers.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Command } from '../../../ui/text/Copyable.tsx'
import css from './FirstServer.module.css'

/** From an address block reserved for documentation (RFC 5737). */
const example = '192.0.2.10'

/** The empty list: three ways to add the first server. */
export default function FirstServer({ onAdd }: { onAdd: () => void }) {
  const image = allowed(serverAdd)
  return (
    <div className={css['first']}>
      <h2 className="h2">No servers yet</h2>
      <p className="fs13 t2">
        A server is a machine that has booted Talos Linux and waits in maintenance mode. There are
        three ways to add the first one.
      </p>
      <ol className={css['ways']}>
        <li>
          <h3>Boot a prepared image</h3>
          <p>
            Choose version, extensions and datacenter. Machines that boot the image appear here by
            themselves.
          </p>
          {image.ok ? (
            <ActionButton
              label="Prepare image"
              kind="primary"
              icon="disk"
              to={paths.prepareImage()}
            />
          ) : (
            <ActionButton label="Prepare image" kind="primary" icon="disk" can={image} />
          )}
        </li>
        <li>
          <h3>Add by address</h3>
          <p>
            Machines that have booted Talos without a prepared image are found by their addresses,
            or by scanning a network.
          </p>
          <ActionButton
            label="Add servers by address"
            icon="add"
            can={allowed(serverAdd)}
            run={onAdd}
          />
        </li>
        <li>
          <h3>From a script</h3>
          <p>The command line and the API can add servers too.</p>
          <Command command={cliOf(['server', 'add', example])} />
          <Command command={curlOf(serverAdd, {}, { addresses: [example] })} />
        </li>
      </ol>
    </div>
  )
}
