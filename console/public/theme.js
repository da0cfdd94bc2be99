// Sets the theme from the cookie or the system before the first paint. A separate file, because the content security policy allows no inline script.
;(function () {
  var chosen = /(?:^|; )theme=(dark|light)/.exec(document.cookie)
  var light = chosen ? chosen[1] === 'light' : matchMedia('(prefers-color-scheme: light)').matches
  document.documentElement.dataset.theme = light ? 'light' : 'dark'
})()
