import { expect, test } from 'vitest'
import { checkPatch } from './patch-check.ts'

/** Mistakes of files that people send, beside the cases, with the only problem that is told. */
test.each([
  [
    'a sibling of a list in brackets, one space too many',
    'machine:\n  network:\n    nameservers: [1.1.1.1]\n     searchDomains: [a.b]',
    '4:6 The line is indented by 5 spaces, but line 3 above has a value already, so nothing can be below it: it needs 4 spaces',
  ],
  [
    'a key of a list item, one space too few',
    'machine:\n  network:\n    interfaces:\n      - interface: eth0\n       dhcp: true',
    '5:8 The line is indented by 7 spaces, which fits no line above: it probably needs 8 spaces',
  ],
  [
    'a key without a colon',
    'machine:\n  sysctls\n    vm.nr_hugepages: "1"',
    '2:10 The key sysctls needs a colon, because the lines below belong to it',
  ],
  [
    'a colon without a space',
    'machine:\n  sysctls:\n    vm.nr_hugepages:"1"',
    '3:20 A space is missing after the colon: vm.nr_hugepages: "1"',
  ],
  [
    'a zero-width space in a key',
    'machine:\n  sys\u200bctls:\n    vm.nr_hugepages: "1"',
    '2:6 There is an invisible character (U+200B): type the line anew',
  ],
  [
    'quotation marks of a word processor',
    'machine:\n  network:\n    interfaces: [{interface: eth0, mtu: \u201c9000\u201d}]',
    '3:41 The quotation mark \u201c is none in YAML: use " or \'',
  ],
  [
    'a template of Helm',
    'machine:\n  sysctls:\n    vm.nr_hugepages: {{ .Values.pages }}',
    '3:22 The marks {{ and }} belong to a template, for example of Helm: write the value in their place',
  ],
  [
    'a variable of a shell',
    'machine:\n  network:\n    nameservers: [${DNS}]',
    '3:18 The mark ${…} belongs to a shell or a template, for example of envsubst: write the value in its place',
  ],
  [
    'a directive that Talos does not have',
    'machine:\n  network:\n    nameservers:\n      $patch: replace',
    '4:7 Talos knows $patch: delete only. A patch adds to a list; to replace the list, delete it in one patch and set it in a later one',
  ],
  [
    'a conflict of Git',
    'machine:\n<<<<<<< HEAD\n  sysctls: {vm.swappiness: "1"}\n=======\n  sysctls: {vm.swappiness: "2"}\n>>>>>>> other',
    '2:1 A conflict of Git is not resolved: keep one of the two versions, and remove the marks',
  ],
  [
    'a command of a shell around the file',
    'cat <<EOF > patch.yaml\nmachine: {}\nEOF',
    '1:1 This line is a command of a shell: only the lines below belong to the file',
  ],
  [
    'a mark between documents that is indented',
    'machine: {}\n ---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a',
    '2:2 The mark --- between documents must stand at the beginning of its line',
  ],
  [
    'a quotation mark that is not closed',
    'machine:\n  sysctls:\n    vm.nr_hugepages: "1\n',
    '3:22 The value begins with " and has no " at its end',
  ],
  [
    'a bracket that is not closed',
    'machine:\n  certSANs: [a.example.org, b.example.org\n  sysctls: {vm.nr_hugepages: "1"}\n',
    '2:13 The value begins with [ and has no ] at its end',
  ],
  [
    'a web page in the place of the file',
    '<!DOCTYPE html>\n<html><body>machine: {}</body></html>',
    '1:1 This is a web page and not a YAML file: save the file itself, for example its raw form',
  ],
  [
    'a difference of two files',
    '+machine:\n+  sysctls: {vm.nr_hugepages: "1"}',
    '1:1 The lines are a difference of two files, with + and - before them: send the file itself',
  ],
  [
    'a line end of a mainframe',
    'machine:\u0085  sysctls: {}',
    '1:9 There is a line end of another kind (U+0085, U+2028 or U+2029), which is none in YAML: type the line end anew',
  ],
  [
    'a section with a capital letter',
    'Machine:\n  sysctls: {vm.nr_hugepages: "1"}',
    '1:1 The document has no kind; did you mean machine?',
  ],
  [
    'a field with a letter less',
    'machine:\n  sysctl: {vm.nr_hugepages: "1"}',
    '2:3 Talos has no field machine.sysctl; did you mean sysctls?',
  ],
  [
    'a kind in lower case',
    'apiVersion: v1alpha1\nkind: linkconfig\nname: eno1',
    '1:1 Talos has no document linkconfig of version v1alpha1; did you mean LinkConfig?',
  ],
  [
    'carriage returns alone',
    'machine:\r  sysctls:\r    vm.nr_hugepages: "1"\r',
    '1:9 The lines end with carriage returns alone: save the file with the line ends of Unix or Windows',
  ],
])('%s is told once, at its place', (_, body, sentence) => {
  for (const talosVersion of ['v1.13.9', 'v1.14.1']) {
    const { errors } = checkPatch(body, { talosVersion })
    expect(errors.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      sentence,
    ])
  }
})

test('line ends of Windows and a byte order mark are no mistakes', () => {
  for (const body of [
    'machine:\r\n  sysctls:\r\n    vm.nr_hugepages: "1"\r\n',
    '\ufeffmachine:\n  sysctls:\n    vm.nr_hugepages: "1"\n',
  ])
    expect(checkPatch(body, { talosVersion: 'v1.13.9' }).errors).toEqual([])
})
