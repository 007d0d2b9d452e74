/*
 * ptg.y: the grammar. Tokens come through syntax/filter.c, so there is one NL after every statement and
 * none elsewhere. Actions append to arrays: reductions happen bottom-up, which is post-order, so an
 * expression needs no semantic value (it is the last node and what its `size` covers). The grammar
 * is wider than the language; what it lets through is refused by elab with words of its own.
 *
 * Recovery: always `error NL` (an empty recovery would loop); headers take `error block` too, so
 * that a bad header does not throw its body away. yyerrok only where a statement was skipped.
 */
%require "3.8"
%define api.pure full
%define api.prefix {ptg_}
%define api.token.prefix {TOK_}
%define api.value.type {union parse_value}
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%locations
%param {struct parse *p}
%expect 0

%code top {
#include <string.h>

#include "syntax/internal.h"
}
%code {
#define YYLLOC_DEFAULT(cur, rhs, n)                                                                \
	((cur).begin = (n) ? YYRHSLOC(rhs, 1).begin : YYRHSLOC(rhs, 0).end,                        \
	 (cur).end = (n) ? YYRHSLOC(rhs, n).end : YYRHSLOC(rhs, 0).end)
#define YYINITDEPTH 1000
#define YYMAXDEPTH  10000

/* The stack's growth comes from the parse's arena, so that running out of memory leaks nothing.
 * bison uses the macro where yyparse's p is not in scope as well: in yy_lac, whose own stack has
 * 20 places and needs one for each reduction of an empty rule in a row, of which 2 are possible. */
static struct parse *const p = NULL;
#define YYSTACK_ALLOC(size) ((p) ? arena_alloc((p)->arena, (size)) : NULL)

static void ptg_error(struct span *at, struct parse *p, const char *text);
static void for_with_while(struct parse *p, struct span at);

static const struct expr NOTHING = {0, 0};
static const struct range NONE = {0, 0};
}

%token END 0 "the end of the file"
%token NL "the end of the line"
%token <sym> NAME "a name"
/* soft words: keep PTG first and IN last, the scanner uses their order */
%token <sym> PTG "'ptg'" GRAPH "'graph'" FN "'fn'" USE "'use'" CONST "'const'" RULE "'rule'"
	STATE "'state'" NEXT "'next'" UNTIL "'until'" LOOP "'loop'" WHILE "'while'" IN "'in'"
%token FOR "'for'" AS "'as'" IF "'if'" ELSE "'else'" NONE "'None'" TRUE "'True'" FALSE "'False'"
%token <integer> INT "an integer"
%token <real> FLOAT "a number" IMAG "an imaginary number"
%token <str> STR "a string"
%token LPAREN "'('" RPAREN "')'" LBRACKET "'['" RBRACKET "']'" LBRACE "'{'" RBRACE "'}'"
	LPROPS "properties in '{'" RPROPS "'}' after properties"
%token COMMA "','" COLON "':'" ASSIGN "'='" ARROW "'->'" DOT "'.'" ELLIPSIS "'...'" ANY "'?'"
%token EQ "'=='" NE "'!='" LT "'<'" LE "'<='" GT "'>'" GE "'>='" OR "'|'" XOR "'^'" AND "'&'"
	ADD "'+'" SUB "'-'" MUL "'*'" DIV "'/'" INTDIV "'//'" MOD "'%'" MATMUL "'@'" POW "'**'"
	INVERT "'~'"
%token START "the start of a file without header"
/* made by the scanner, never seen by the grammar */
%token RESERVED COMMENT

%nonassoc EQ NE LT LE GT GE
%left OR
%left XOR
%left AND
%left ADD SUB
%left MUL DIV INTDIV MOD MATMUL
%precedence UNARY
%right POW
%precedence LBRACKET

%type <sym> name soft opname alias
%type <range> decls decl_list params param_list targets args arg_list expr_list props prop_list
	dims dim_list index ixs ix_list
%type <expr> type kind cond while
%type <lister> elems
%type <stmts> stmts
%type <stmt> stmt
%type <block> block
%type <branches> if chain
%type <loop> loop
%type <items> items item_list
%type <item> item
%type <results> results result_list
%type <result> result
%type <flags> bound

%%

file: header tops ;

header: START
    | PTG INT settings NL                       { header(p, $INT, @$, @INT); if (p->stop) YYABORT; }
    | PTG error NL ;

settings: %empty
    | settings NAME[key]                        { header_setting(p, $key, NULL, @key); }
    | settings NAME[key] ASSIGN NAME[value]     { header_setting(p, $key, $value, @value); }
    | settings NAME[a] DOT NAME[b] DOT NAME[c] ASSIGN INT
                                                { header_domain(p, $a, $b, $c, $INT, @a, @INT); } ;

tops: %empty
    | tops top NL
    | tops GRAPH error NL
    | tops FN error NL
    | tops error NL ;

top: USE STR alias                              { struct ause *use = add_use(p, $alias, @alias);
                                                  use->path = *$STR; use->span = @STR; }
    | USE LT NAME GT alias                      { struct ause *use = add_use(p, $alias, @alias);
                                                  use->library = $NAME; use->span = @NAME; }
    | CONST name ASSIGN expr                    { add_const(p, $name, @name, NOTHING); }
    | CONST name COLON type ASSIGN expr         { add_const(p, $name, @name, $type); }
    | GRAPH name decls LPAREN params[in] RPAREN ARROW LPAREN params[out] RPAREN block
                                                { add_fn(p, true, $name, @name, $decls, $in, $out,
                                                         *$block, @$); }
    | FN opname decls LPAREN params[in] RPAREN ARROW LPAREN params[out] RPAREN block
                                                { add_fn(p, false, $opname, @opname, $decls, $in,
                                                         $out, *$block, @$); }
    | GRAPH error block                         { p->head_lost = true; }
    | FN error block                            { p->head_lost = true; } ;

alias: %empty                                   { $$ = NULL; }
    | AS name                                   { $$ = $name; @$ = @name; } ;

soft: PTG | GRAPH | FN | USE | CONST | RULE | STATE | NEXT | UNTIL | LOOP | WHILE | IN ;

name: NAME | soft ;

opname: NAME
    | dotted                                    { $$ = intern(p->cx, p->dotted.s, p->dotted.len); } ;

dotted: NAME DOT name                           { dotted_begin(p, $1, @1); dotted_more(p, $3, @3); }
    | dotted DOT name                           { dotted_more(p, $3, @3); } ;

decls: %empty                                   { $$ = (struct range){p->params.len, 0}; }
    | LPROPS decl_list RPROPS                   { $$ = $2; }
    | LPROPS decl_list COMMA RPROPS             { $$ = $2; } ;

decl_list: decl                                 { $$ = (struct range){p->params.len - 1, 1}; }
    | decl_list COMMA decl                      { $$ = $1; $$.n++; } ;

decl: name                                      { push_param(p, $1, NOTHING, NOTHING, @$, @1); }
    | name COLON kind                           { push_param(p, $1, $3, NOTHING, @$, @1); }
    | name ASSIGN expr                          { push_param(p, $1, NOTHING, tail(p), @$, @1); }
    | name COLON kind ASSIGN expr               { push_param(p, $1, $3, tail(p), @$, @1); } ;

kind: type
    | FN                                        { type_node(p, $1, NULL, @$, @1); $$ = tail(p); } ;

params: %empty                                  { $$ = (struct range){p->params.len, 0}; }
    | param_list
    | param_list COMMA ;

param_list: param                               { $$ = (struct range){p->params.len - 1, 1}; }
    | param_list COMMA param                    { $$ = $1; $$.n++; } ;

param: name                                     { push_param(p, $1, NOTHING, NOTHING, @$, @1); }
    | name COLON type                           { push_param(p, $1, $3, NOTHING, @$, @1); }
    | name ASSIGN expr                          { push_param(p, $1, NOTHING, tail(p), @$, @1); }
    | name COLON type ASSIGN expr               { push_param(p, $1, $3, tail(p), @$, @1); } ;

type: NAME                                      { type_node(p, $1, NULL, @$, @1); $$ = tail(p); }
    | NAME LBRACKET dims RBRACKET               { type_node(p, $1, &$3, @$, @1); $$ = tail(p); } ;

dims: %empty                                    { $$ = (struct range){p->file->nodes.len, 0}; }
    | dim_list
    | dim_list COMMA ;

dim_list: dim                                   { $$ = (struct range){tail(p).first, 1}; }
    | dim_list COMMA dim                        { $$ = $1; $$.n++; } ;

dim: expr
    | ANY                                       { leaf(p, A_ANY, @$); }
    | ANY name                                  { leaf(p, A_ANY, @$)->u.sym = $2; }
    | ELLIPSIS                                  { leaf(p, A_ELLIPSIS, @$); }
    | ELLIPSIS name                             { leaf(p, A_ELLIPSIS, @$)->u.sym = $2; } ;

block: LBRACE stmts RBRACE                      { $$ = new(p->arena, struct ablock);
                                                  $$->first = $2.first; $$->last = $2.last;
                                                  $$->span = @$; } ;

stmts: %empty                                   { $$ = (struct stmts){NULL, NULL}; }
    | stmts stmt NL                             { $$ = $1;
                                                  if ($$.last) $$.last->next = $2;
                                                  else $$.first = $2;
                                                  $$.last = $2; }
    | stmts bad                                 { $$ = $1; p->head_lost = true; yyerrok; }
    | stmts error[text] NL[end]                 { struct stmt *lost = lost_statement(p, @text, @end.begin,
                                                                                 $1.last);
                                                  $$ = $1;
                                                  if ($$.last) $$.last->next = lost;
                                                  else $$.first = lost;
                                                  $$.last = lost;
                                                  yyerrok; } ;

/* headers whose line is lost; what follows them is read as statements */
bad: IF error NL
    | chain ELSE IF error NL
    | chain ELSE error NL
    | targets ASSIGN IF error NL
    | targets ASSIGN chain ELSE IF error NL
    | targets ASSIGN chain ELSE error NL
    | targets ASSIGN LOOP error NL
    | targets ASSIGN FOR error NL ;

stmt: targets ASSIGN expr                       { $$ = statement(p, S_ASSIGN, $1, tail(p), @$); }
    | targets ASSIGN if                         { $$ = statement(p, S_IF, $1, NOTHING, @$);
                                                  $$->u.cond = $3.first; }
    | targets ASSIGN loop                       { $$ = statement(p, $3->written_out ? S_FOR : S_LOOP,
                                                                 $1, NOTHING, @$);
                                                  $$->u.loop = $3; }
    | if                                        { $$ = statement(p, S_STATIC_IF, NONE, NOTHING, @$);
                                                  $$->u.cond = $1.first; }
    | STATE name COLON type ASSIGN expr         { $$ = set_statement(p, S_STATE, $2, @2, $4, @$); }
    | NEXT name ASSIGN expr                     { $$ = set_statement(p, S_NEXT, $2, @2, NOTHING, @$); }
    | UNTIL expr                                { $$ = statement(p, S_UNTIL, NONE, tail(p), @$); } ;

targets: target                                 { $$ = (struct range){p->targets.len - 1, 1}; }
    | targets COMMA target                      { $$ = more_targets(p, $1); } ;

target: name                                    { push_target(p, $1, NOTHING, @1); }
    | name COLON type                           { push_target(p, $1, $3, @1); } ;

if: chain
    | chain ELSE block                          { $$ = $1;
                                                  $$.last = $$.last->next = new(p->arena, struct aif);
                                                  $$.last->body = *$3;
                                                  $$.last->span = (struct span){@2.begin, @3.end}; } ;

chain: IF cond block                            { $$.first = $$.last = new(p->arena, struct aif);
                                                  $$.last->cond = $2;
                                                  $$.last->body = *$3;
                                                  $$.last->span = @$; }
    | chain ELSE IF cond block                  { $$ = $1;
                                                  $$.last = $$.last->next = new(p->arena, struct aif);
                                                  $$.last->cond = $4;
                                                  $$.last->body = *$5;
                                                  $$.last->span = (struct span){@3.begin, @5.end}; }
    | IF error block                            { $$.first = $$.last = new(p->arena, struct aif);
                                                  $$.last->span = @$; p->head_lost = true; }
    | chain ELSE IF error block                 { $$ = $1; p->head_lost = true; }
    | chain ELSE error block                    { $$ = $1; p->head_lost = true; } ;

cond: expr                                      { $$ = tail(p); } ;

loop: LOOP LPAREN items RPAREN while ARROW LPAREN results RPAREN block
                                                { $$ = new(p->arena, struct aloop);
                                                  $$->items = $3.first;
                                                  $$->condition = $5;
                                                  $$->results = $8.first;
                                                  $$->body = *$10;
                                                  $$->span = @$; }
    | FOR LPAREN items RPAREN while ARROW LPAREN results RPAREN block
                                                { $$ = new(p->arena, struct aloop);
                                                  $$->written_out = true;
                                                  $$->items = $3.first;
                                                  $$->results = $8.first;
                                                  $$->body = *$10;
                                                  $$->span = @$;
                                                  if ($5.len) for_with_while(p, @5); }
    | LOOP error block                          { $$ = new(p->arena, struct aloop);
                                                  p->head_lost = true; }
    | FOR error block                           { $$ = new(p->arena, struct aloop);
                                                  p->head_lost = true; } ;

while: %empty                                   { $$ = NOTHING; }
    | WHILE expr                                { $$ = tail(p); } ;

items: item_list
    | item_list COMMA ;

item_list: item                                 { $$.first = $$.last = $1; }
    | item_list COMMA item                      { $$ = $1; $$.last = $$.last->next = $3; } ;

item: name IN expr                              { $$ = new(p->arena, struct aitem);
                                                  $$->name = $1; $$->span = @1; $$->in = true;
                                                  $$->value = tail(p); }
    | name IN expr COLON expr                   { $$ = new(p->arena, struct aitem);
                                                  $$->name = $1; $$->span = @1; $$->in = true;
                                                  $$->range = true;
                                                  $$->stop = tail(p);
                                                  $$->value = before(p, $$->stop); }
    | name IN expr COLON expr COLON expr        { $$ = new(p->arena, struct aitem);
                                                  $$->name = $1; $$->span = @1; $$->in = true;
                                                  $$->range = true;
                                                  $$->step = tail(p);
                                                  $$->stop = before(p, $$->step);
                                                  $$->value = before(p, $$->stop); }
    | name ASSIGN expr                          { $$ = new(p->arena, struct aitem);
                                                  $$->name = $1; $$->span = @1;
                                                  $$->value = tail(p); }
    | name COLON type ASSIGN expr               { $$ = new(p->arena, struct aitem);
                                                  $$->name = $1; $$->span = @1;
                                                  $$->type = $3;
                                                  $$->value = tail(p); } ;

results: result_list
    | result_list COMMA ;

result_list: result                             { $$.first = $$.last = $1; }
    | result_list COMMA result                  { $$ = $1; $$.last = $$.last->next = $3; } ;

result: name                                    { $$ = new(p->arena, struct aresult);
                                                  $$->name = $1; $$->span = @1; }
    | LBRACKET name RBRACKET                    { $$ = new(p->arena, struct aresult);
                                                  $$->name = $2; $$->span = @2;
                                                  $$->stacked = true; } ;

expr: expr EQ expr                              { binary(p, OPR_EQ, @$, @2); }
    | expr NE expr                              { binary(p, OPR_NE, @$, @2); }
    | expr LT expr                              { binary(p, OPR_LT, @$, @2); }
    | expr LE expr                              { binary(p, OPR_LE, @$, @2); }
    | expr GT expr                              { binary(p, OPR_GT, @$, @2); }
    | expr GE expr                              { binary(p, OPR_GE, @$, @2); }
    | expr OR expr                              { binary(p, OPR_OR, @$, @2); }
    | expr XOR expr                             { binary(p, OPR_XOR, @$, @2); }
    | expr AND expr                             { binary(p, OPR_AND, @$, @2); }
    | expr ADD expr                             { binary(p, OPR_ADD, @$, @2); }
    | expr SUB expr                             { binary(p, OPR_SUB, @$, @2); }
    | expr MUL expr                             { binary(p, OPR_MUL, @$, @2); }
    | expr DIV expr                             { binary(p, OPR_DIV, @$, @2); }
    | expr INTDIV expr                          { binary(p, OPR_INTDIV, @$, @2); }
    | expr MOD expr                             { binary(p, OPR_MOD, @$, @2); }
    | expr MATMUL expr                          { binary(p, OPR_MATMUL, @$, @2); }
    | expr POW expr                             { binary(p, OPR_POW, @$, @2); }
    | SUB expr %prec UNARY                      { unary(p, OPR_NEG, @$, @1); }
    | ADD expr %prec UNARY                      { unary(p, OPR_POS, @$, @1); }
    | INVERT expr %prec UNARY                   { unary(p, OPR_INVERT, @$, @1); }
    | NAME                                      { name_leaf(p, $1, @$); }
    | soft                                      { name_leaf(p, $1, @$); }
    | INT                                       { leaf(p, A_INT, @$)->u.integer = $1; }
    | FLOAT                                     { leaf(p, A_FLOAT, @$)->u.real = $1; }
    | IMAG                                      { leaf(p, A_IMAG, @$)->u.real = $1; }
    | STR                                       { leaf(p, A_STR, @$)->u.str = $1; }
    | NONE                                      { leaf(p, A_NONE, @$); }
    | TRUE                                      { leaf(p, A_TRUE, @$); }
    | FALSE                                     { leaf(p, A_FALSE, @$); }
    | dotted                                    { dotted_value(p); }
    | index                                     { parent(p, A_INDEX, $1, @$, @1)->at.begin = @1.end - 1; }
    | opname props                              { call(p, $1, &$2, NULL, @$, @1); }
    | closed ;

/* what ends with ] or ), or with the name of an attribute */
closed: LBRACKET RBRACKET                       { list_end(p, NULL, @$); }
    | LBRACKET elems RBRACKET                   { list_end(p, $2, @$); }
    | LBRACKET elems COMMA RBRACKET             { list_end(p, $2, @$); }
    | LPAREN expr RPAREN                        { parent(p, A_PAREN, children(p, 1), @$, @1); }
    | LPAREN RPAREN                             { parent(p, A_TUPLE, children(p, 0), @$, @1); }
    | LPAREN expr COMMA RPAREN                  { parent(p, A_TUPLE, children(p, 1), @$, @1); }
    | LPAREN expr COMMA expr_list RPAREN        { parent(p, A_TUPLE, (struct range){
                                                         before(p, (struct expr){$4.start, 0}).first,
                                                         $4.n + 1}, @$, @1); }
    | LPAREN expr COMMA expr_list COMMA RPAREN  { parent(p, A_TUPLE, (struct range){
                                                         before(p, (struct expr){$4.start, 0}).first,
                                                         $4.n + 1}, @$, @1); }
    | opname LPAREN args RPAREN                 { call(p, $1, NULL, &$3, @$, @1); }
    | opname props LPAREN args RPAREN           { call(p, $1, &$2, &$4, @$, @1); }
    | index LPAREN <sym>{ if (!construct_begin(p, &$1, &$$, @1)) YYERROR; }
      args RPAREN                               { construct(p, $3, $1, $4, @$, @1); }
    | index DOT name LPAREN args RPAREN         { update(p, $3, $1, $5, @$, @3); }
    | index DOT name                            { parent(p, A_INDEX, $1, @1, @1)->at.begin = @1.end - 1;
                                                  attribute(p, $3, @$, @3); }
    | closed DOT name                           { attribute(p, $3, @$, @3); }
    | closed DOT name LPAREN args RPAREN        { method(p, $3, (struct range){
                                                         before(p, (struct expr){$5.start, 0}).first,
                                                         $5.n + 1}, @$, @3); } ;

args: %empty                                    { $$ = children(p, 0); }
    | arg_list
    | arg_list COMMA ;

arg_list: arg                                   { $$ = children(p, 1); }
    | arg_list COMMA arg                        { $$ = $1; $$.n++; } ;

arg: expr
    | name ASSIGN expr                          { parent(p, A_NAMED, children(p, 1), @$, @1)->u.sym = $1; } ;

expr_list: expr                                 { $$ = children(p, 1); }
    | expr_list COMMA expr                      { $$ = $1; $$.n++; } ;

elems: expr                                     { $$ = list_first(p); }
    | elems COMMA expr                          { $$ = $1; if (!list_more(p, $1)) YYABORT; } ;

props: LPROPS RPROPS                            { $$ = children(p, 0); }
    | LPROPS prop_list RPROPS                   { $$ = $2; }
    | LPROPS prop_list COMMA RPROPS             { $$ = $2; } ;

prop_list: prop                                 { $$ = children(p, 1); }
    | prop_list COMMA prop                      { $$ = $1; $$.n++; } ;

prop: ix                                        { parent(p, A_PROP, children(p, 1), @$, @1); }
    | name ASSIGN expr                          { parent(p, A_PROP, children(p, 1), @$, @1)->u.sym = $1; }
    | expr ARROW expr                           { parent(p, A_ARROW, children(p, 2), @$, @2);
                                                  parent(p, A_PROP, children(p, 1), @$, @$); } ;

index: expr LBRACKET ixs RBRACKET               { $$.start = before(p, (struct expr){$3.start, 0}).first;
                                                  $$.n = $3.n + 1; } ;

ixs: %empty                                     { $$ = children(p, 0); }
    | ix_list
    | ix_list COMMA ;

ix_list: ix                                     { $$ = children(p, 1); }
    | ix_list COMMA ix                          { $$ = $1; $$.n++; } ;

ix: expr
    | ELLIPSIS                                  { leaf(p, A_ELLIPSIS, @$); }
    | bound COLON bound                         { ast_slice(p, $1 * AF_START | $3 * AF_STOP, @$, @2); }
    | bound COLON bound COLON bound             { ast_slice(p, $1 * AF_START | $3 * AF_STOP |
                                                           $5 * AF_STEP | AF_COLON2, @$, @2); } ;

bound: %empty                                   { $$ = 0; }
    | expr                                      { $$ = 1; } ;

%%

static bool is_operator(int kind)
{
	return kind >= YYSYMBOL_EQ && kind <= YYSYMBOL_POW;
}

static bool is_comparison(int kind)
{
	return kind >= YYSYMBOL_EQ && kind <= YYSYMBOL_GE;
}

static bool is_soft(int kind)
{
	return kind >= YYSYMBOL_PTG && kind <= YYSYMBOL_IN;
}

struct wanted {
	bool expr, name, soft, op, call, top, block;
	uint8_t nother;
	const char *other[8];
};

/* What could stand here, in a few words: kinds of token that come together are one word. */
static struct wanted wanted(const yypcontext_t *at)
{
	yysymbol_kind_t list[YYNTOKENS];
	int n = yypcontext_expected_tokens(at, list, YYNTOKENS);
	struct wanted w = {0};

	for (int i = 0; i < n; i++) {
		w.expr |= list[i] == YYSYMBOL_INVERT;
		w.name |= list[i] == YYSYMBOL_NAME;
		w.soft |= is_soft(list[i]);
		w.op |= list[i] == YYSYMBOL_MUL;
		w.call |= list[i] == YYSYMBOL_LPROPS;
		w.top |= list[i] == YYSYMBOL_FN && !w.name;
		w.block |= list[i] == YYSYMBOL_LBRACE;
	}
	for (int i = 0; i < n; i++) {
		yysymbol_kind_t k = list[i];
		bool starts = k == YYSYMBOL_INVERT || k == YYSYMBOL_SUB || k == YYSYMBOL_ADD ||
		              (k >= YYSYMBOL_NONE && k <= YYSYMBOL_LPAREN) || k == YYSYMBOL_LBRACKET;
		if ((w.expr && (starts || k == YYSYMBOL_FOR)) || (w.name && is_soft(k)) || k == YYSYMBOL_NAME ||
		    (w.op && (is_operator(k) || k == YYSYMBOL_LBRACKET || k == YYSYMBOL_DOT)) ||
		    (w.op && w.call && (k == YYSYMBOL_LPAREN || k == YYSYMBOL_LPROPS)) ||
		    (w.top && (k == YYSYMBOL_PTG || k == YYSYMBOL_YYEOF)) ||
		    (w.op && k == YYSYMBOL_ASSIGN) || w.nother == 8)
			continue;
		w.other[w.nother++] = yysymbol_name(k);
	}
	return w;
}

static void list_wanted(struct strbuf *b, const struct wanted *w)
{
	const char *sep = "";
	uint8_t n = w->nother > 4 ? 4 : w->nother;

	if (w->expr)
		sb_str(b, "an expression"), sep = n > 1 ? ", " : " or ";
	else if (w->name)
		sb_str(b, w->soft ? "a name" : "a dtype"), sep = n > 1 ? ", " : " or ";
	else if (w->op && n == 0)
		sb_str(b, "an operator");
	for (uint8_t i = 0; i < n; i++) {
		sb_printf(b, "%s%s", sep, w->other[i]);
		sep = i + 2 == n ? " or " : ", ";
	}
	if (!b->len)
		sb_str(b, "something else");
}

/* Was a newline made up before a block's }? */
static bool brace_at(const struct parse *p, struct span at)
{
	return at.begin - p->base < p->len && p->text[at.begin - p->base] == '}';
}

static const char *found(struct parse *p, int kind, struct span at)
{
	uint32_t len = at.end - at.begin;

	if (kind == YYSYMBOL_NL && !brace_at(p, at))
		return "the end of the line";
	if (kind == YYSYMBOL_NL)
		len = 1;
	if (kind == YYSYMBOL_YYEOF)
		return "the end of the file";
	if (kind == YYSYMBOL_STR)
		return "a string";
	return arena_printf(p->arena, "'%.*s%s'", shown_len(p->text + (at.begin - p->base), len, 40),
	                    p->text + (at.begin - p->base), len > 40 ? "..." : "");
}

/* What other languages have: said where the grammar stops. */
static const struct foreign {
	const char *word, *instead;
	bool top; /* begins a definition, else a statement */
} foreign[] = {
	{"return", "results are named after '->' in the header", false},
	{"let", "write name = value", false},
	{"var", "write name = value", false},
	{"elif", "write else if", false},
	{"elseif", "write else if", false},
	{"switch", "write y = if k == 1 { ... } else if k == 2 { ... } else { ... }", false},
	{"assert", "write y = Assert{msg=\"...\"}(x, c), and use y", false},
	{"raise", "write y = Assert{msg=\"...\"}(x, c), and use y: the run fails if c is false", false},
	{"continue", "write next s = Switch(c, s, new), which keeps s where c holds", false},
	{"break", "until c, in the body of a loop, ends it after a step", false},
	{"print", "make what you want to see a result of the graph: -> (y, x)", false},
	{"def", "write fn Name(x: F) -> (y) { ... }", true},
	{"func", "write fn Name(x: F) -> (y) { ... }", true},
	{"function", "write fn Name(x: F) -> (y) { ... }", true},
	{"import", "write use \"file.ptg\"", true},
	{"from", "write use \"file.ptg\"", true},
	{"include", "write use \"file.ptg\"", true},
};

static bool is_text(const struct parse *p, struct span s, const char *word)
{
	size_t n = strlen(word);

	return s.end - s.begin == n && !memcmp(p->text + (s.begin - p->base), word, n);
}

static bool other_language(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool second = p->before.begin == p->first_span.begin;

	if (second && !w->expr && p->depth && p->first == TOK_CONST) {
		parse_error(p, p->first_span, E_SYNTAX, "'const' stands at the top of a file, outside blocks: write name = value here");
		return true;
	}
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const struct foreign *f = &foreign[i];
		bool top = f->top && w->top;
		bool goes_on = !f->top && kind == YYSYMBOL_NAME && is_text(p, p->before, "}");
		struct span s = top || goes_on ? at : p->first_span;
		bool alone = !f->top && kind == YYSYMBOL_NL && p->first_span.end == p->before.end;
		if ((top || goes_on || ((second || alone) && !w->expr)) && is_text(p, s, f->word)) {
			parse_error(p, s, E_SYNTAX, "there is no '%s': %s%s", f->word,
			            top || !f->top ? "" : "outside the graph, ", f->instead);
			return true;
		}
	}
	bool below = second && !w->expr && is_text(p, p->first_span, "while");
	bool right = w->op && kind == YYSYMBOL_NAME && is_text(p, p->before, "while");
	if (below || right) {
		parse_error(p, p->before, E_SYNTAX, "'while' is part of a loop: "
		            "r = loop (x = first) while x > 0 -> (x) { next x = ... }");
		return true;
	}
	if (kind == YYSYMBOL_NAME && is_text(p, p->before, "lambda")) {
		parse_error(p, p->before, E_SYNTAX, "there is no 'lambda': write a fn of its own");
		return true;
	}
	return false;
}

/* Is "=" what follows in the line? */
static bool is_assigned(const struct parse *p, struct span at)
{
	const char *s = p->text + (at.end - p->base), *end = p->text + p->len;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s < end && *s == '=' && (s + 1 == end || s[1] != '=');
}

/* eps = 1e-6 at the top of a file, and const eps: 1e-6 */
static bool meant_const(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	const char *name = p->text + (at.begin - p->base);

	if (kind == YYSYMBOL_NAME && w->top && is_assigned(p, at)) {
		parse_error(p, at, E_SYNTAX, "statements stand in a graph or fn; a number that all of them see is "
		            "a const: write const %.*s = ...", (int)(at.end - at.begin), name);
		return true;
	}
	if (p->first == TOK_CONST && !p->depth && !w->op && is_text(p, p->before, ":")) {
		parse_error(p, at, E_SYNTAX, "a type is written after ':': write const name = value, or "
		            "const name: float64[] = value");
		return true;
	}
	return false;
}

/* Does what follows a `for` say that it is meant as a name, and not as a loop? */
static bool for_as_name(struct parse *p, struct span at)
{
	char next = *text_behind(p, at);

	return p->first == TOK_FN ? is_text(p, p->before, "fn") : next != '(' && !begins_name(next);
}

static struct sym *intern_text(struct parse *p, struct span s)
{
	return intern(p->cx, p->text + (s.begin - p->base), s.end - s.begin);
}

/* A word where a name is expected, or the call of a fn that is called like a word */
static bool word_as_name(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool word = is_soft(kind) || kind == YYSYMBOL_AS || (kind == YYSYMBOL_FOR && for_as_name(p, at));
	bool called = w->op && (kind == YYSYMBOL_LPAREN || kind == YYSYMBOL_LPROPS) && !p->head &&
	              p->before.end == at.begin && intern_text(p, p->before)->word;
	bool head = is_text(p, p->before, "for") && !w->op && kind != YYSYMBOL_NAME && !is_soft(kind) &&
	            kind != YYSYMBOL_LPAREN; /* no loop begins with what follows */
	struct span s = called || head ? p->before : at;

	if (!called && !head && !(word && (w->name || w->expr)))
		return false;
	int len = (int)(s.end - s.begin);
	const char *name = p->text + (s.begin - p->base);
	parse_error(p, s, E_SYNTAX, "'%.*s' is a word of the language: a name of that spelling stands in "
	            "backquotes, `%.*s`", len, name, len, name);
	return true;
}

/* if, loop, for and operators where they cannot stand. */
static bool misplaced(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool loop = p->head == TOK_LOOP;

	if (kind == YYSYMBOL_NAME && w->op && is_text(p, p->before, "next")) {
		int n = (int)(at.end - at.begin);
		const char *s = p->text + (at.begin - p->base);
		parse_error(p, p->before, E_SYNTAX, "'next %.*s' is a statement and no value: write %.*s1 = ..., "
		            "then next %.*s = %.*s1, and use %.*s1", n, s, n, s, n, s, n, s, n, s);
	} else if (kind == YYSYMBOL_FOR && p->depth && top(p)->kind == TOK_LBRACKET) {
		parse_error(p, at, E_SYNTAX, "a list has no 'for': write "
		            "ys = loop (x in xs) -> ([y]) { y = ... }");
	} else if (kind == YYSYMBOL_FOR && p->depth && (p->first == TOK_NEXT || p->first == TOK_STATE)) {
		parse_error(p, at, E_SYNTAX,
		            "a 'for' gives values to names: write s1 = for ..., then use s1 here");
		p->head = 0;
	} else if (kind == YYSYMBOL_FOR && p->depth) {
		parse_error(p, at, E_SYNTAX, "'loop' and 'for' give values to names: write "
		            "r = loop (x in xs, s = first) -> (s) { next s = ... }, or r = for (i in 0:3, ...)");
	} else if ((kind == YYSYMBOL_IF || loop) && p->head &&
	    (p->first == TOK_NEXT || p->first == TOK_STATE || p->first == TOK_UNTIL)) {
		parse_error(p, loop ? p->before : at, E_SYNTAX,
		            loop ? "a loop gives values to names: write s1 = loop ..., then use s1 here"
		                 : "an 'if' gives values to names: write s1 = if ..., then use s1 here");
		p->head = 0;
	} else if ((kind == YYSYMBOL_IF || kind == YYSYMBOL_ANY) && w->op) {
		parse_error(p, at, E_SYNTAX, "a choice is written y = if c { y = a } else { y = b }, "
		            "or Switch(c, a, b) for each element");
	} else {
		return false;
	}
	if (p->head == TOK_IF)
		p->head = 0;
	return true;
}

static void for_with_while(struct parse *p, struct span at)
{
	parse_error(p, at, E_SYNTAX, "a 'for' is written out at compile time and takes all of its steps: write loop, which can have a 'while'");
}

static bool dot_before_name(const struct parse *p, struct span at)
{
	uint32_t next = at.end - p->base;

	return next < p->len && begins_name(p->text[next]);
}

/* Does the line have a // before the place, or begin a C comment there? */
static bool slashes_before(const struct parse *p, int kind, struct span at)
{
	const char *end = p->text + (at.begin - p->base), *from = end;

	if (kind == YYSYMBOL_MUL && p->prev_span.begin == p->before.end && is_text(p, p->before, "/"))
		return true;
	if (kind != YYSYMBOL_NAME && kind != YYSYMBOL_INTDIV)
		return false;
	while (from > p->text && from[-1] != '\n')
		from--;
	for (; from < end; from++)
		if (from[0] == '/' && from[1] == '/')
			return true;
	return false;
}

/* The text of the line from a place on, without the blanks and comments at its end; its length in *n */
static const char *rest_of_line(const struct parse *p, uint32_t at, int *n)
{
	const char *from = p->text + (at - p->base), *end = p->text + p->len, *to = from;

	while (to < end && *to != '\n' && *to != '#')
		to++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r' || to[-1] == '}'))
		to--;
	*n = (int)(to - from);
	return from;
}

/* x[0] = 0 or x[0] += 1, in which the parser stands at the '[' */
static bool assigns_in_place(struct parse *p, struct span at)
{
	int n, close = 0, depth = 0;
	const char *s = rest_of_line(p, at.begin, &n);

	for (; close < n; close++) {
		depth += s[close] == '[' || s[close] == '(';
		depth -= s[close] == ']' || s[close] == ')';
		if (!depth)
			break;
	}
	int to = close + 1;
	while (to < n && s[to] == ' ')
		to++;
	bool adds = to + 1 < n && s[to] == '+' && s[to + 1] == '=';
	if (to >= n || (s[to] != '=' && !adds) || (to + 1 < n && s[to] == '=' && s[to + 1] == '='))
		return false;
	to += adds ? 2 : 1;
	while (to < n && s[to] == ' ')
		to++;
	bool shown = n < 80;
	parse_error(p, at, E_SYNTAX, "values are never changed in place: a new value is y = %.*s%.*s.%s(%.*s)",
	            (int)(at.begin - p->before.begin), p->text + (p->before.begin - p->base),
	            shown ? close + 1 : 5, shown ? s : "[...]", adds ? "inc" : "set",
	            shown ? n - to : 1, shown ? s + to : "v");
	return true;
}

/* Softmax<1>(x) or Softmax<axis=1>(x), in which the parser stands at the '>' or '=' */
static bool angle_brackets(struct parse *p, struct span at)
{
	const char *end = p->text + p->len, *open = p->text + (at.begin - p->base), *close = open;

	while (open > p->text && *open != '<' && *open != '\n')
		open--;
	while (close < end && *close != '>' && *close != '\n')
		close++;
	const char *name = open;
	while (name > p->text && (begins_name(name[-1]) || (name[-1] >= '0' && name[-1] <= '9')))
		name--;
	if (*open != '<' || name == open || close + 1 >= end || *close != '>' || close[1] != '(')
		return false;
	parse_error(p, at, E_SYNTAX, "properties stand in braces: %.*s{%.*s}(...)", (int)(open - name),
	            name, (int)(close - open - 1), open + 1);
	return true;
}

/* What looks like an operator and is a character of names, such as U+2212 */
static bool looks_like_operator(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	const char *instead = kind == YYSYMBOL_NAME && w->op
	                              ? operator_instead(p->text + (at.begin - p->base), at.end - at.begin)
	                              : NULL;

	if (instead)
		parse_error(p, at, E_CHAR, "%s", instead);
	return instead != NULL;
}

/* A branch that is a value: y = if c { x } else { -x } */
static bool unnamed_branch(struct parse *p, int kind, const struct wanted *w)
{
	bool begins = w->name && w->soft && !w->expr && !w->op; /* a statement */
	bool value = kind == YYSYMBOL_SUB || kind == YYSYMBOL_ADD || kind == YYSYMBOL_INVERT ||
	             kind == YYSYMBOL_LPAREN || kind == YYSYMBOL_LBRACKET ||
	             (kind >= YYSYMBOL_NONE && kind <= YYSYMBOL_STR);
	bool named = p->prev_span.begin == p->first_span.begin || p->before.begin == p->first_span.begin;
	bool goes_on = named && !w->expr && !w->op &&
	               (kind == YYSYMBOL_NL || kind == YYSYMBOL_LPAREN || kind == YYSYMBOL_LPROPS ||
	                kind == YYSYMBOL_LBRACKET ||
	                kind == YYSYMBOL_DOT || (kind >= YYSYMBOL_EQ && kind <= YYSYMBOL_POW));

	/* the filter has pushed the bracket that the parser stands at */
	bool opens = kind == YYSYMBOL_LPAREN || kind == YYSYMBOL_LBRACKET || kind == YYSYMBOL_LPROPS;

	return p->depth > opens && p->brackets[p->depth - 1 - opens].of_if &&
	       ((begins && value) || goes_on);
}

/* Is the name the first of an item in the header of a loop? */
static bool is_item(const struct parse *p, struct span name)
{
	const char *at = p->text + (name.begin - p->base);

	while (at > p->text && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\t'))
		at--;
	return at > p->text && (at[-1] == '(' || at[-1] == ',');
}

static bool begins_value(int kind)
{
	return kind == YYSYMBOL_NAME || is_soft(kind) || (kind >= YYSYMBOL_NONE && kind <= YYSYMBOL_LPAREN);
}

static bool is_dtype(struct parse *p, struct span s)
{
	return dtype_named(arena_strdup(p->arena, p->text + (s.begin - p->base), s.end - s.begin));
}

/* What stands where the { of a block or the ( of a header is missing, or a { that opens none */
static bool wrong_brackets(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool colon = kind == YYSYMBOL_COLON || kind == YYSYMBOL_NL;

	if ((is_text(p, p->before, "for") || is_text(p, p->before, "loop")) && p->head == TOK_LOOP &&
	    kind != YYSYMBOL_LPAREN) {
		bool loop = is_text(p, p->before, "loop");
		parse_error(p, at, E_SYNTAX, "the header of a '%s' stands in parentheses: "
		            "y = %s (i in 0:%s, h = x) -> (h) { next h = ... }",
		            loop ? "loop" : "for", loop ? "loop" : "for", loop ? "n" : "3");
	} else if (w->block && w->op && colon) { /* a condition is read */
		parse_error(p, at, E_SYNTAX, "the statements of a branch stand in braces: "
		            "y = if c { y = a } else { y = b }");
	} else if (p->head == TOK_IF && w->block && begins_value(kind) && !is_text(p, at, "is")) {
		parse_error(p, at, E_SYNTAX, "a choice is written y = if c { y = a } else { y = b }, "
		            "or Switch(c, a, b) for each element");
	} else if (!p->head && w->expr && (kind == YYSYMBOL_LBRACE || kind == YYSYMBOL_LPROPS)) {
		parse_error(p, at, E_SYNTAX, "braces are for properties and blocks: "
		            "a list is [x, y], and parentheses group");
	} else {
		return false;
	}
	return true;
}

/* What is wrong in the header of a loop or for */
static bool wrong_loop(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool inside = p->depth && p->brackets[p->depth - 1].loop_head;
	const char *why = NULL;

	if (inside && kind == YYSYMBOL_COMMA && is_item(p, p->before))
		why = "each item has a name of its own: x in xs, y in ys walk together";
	else if (inside && kind == YYSYMBOL_COLON && w->op)
		why = "a count is written i in 0:n";
	else if (p->opened_head == TOK_LOOP && kind == YYSYMBOL_LBRACE && is_text(p, p->before, ")") &&
	         !w->block)
		why = "the results of a loop stand before its block: loop (x in xs, s = first) -> (s) {";
	if (why)
		parse_error(p, at, E_SYNTAX, "%s", why);
	return why != NULL;
}

/* Sum[axis=0](x), Sum(axis=0)(x) and Sum(x){axis=0} */
static bool wrong_properties(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool inside = kind == YYSYMBOL_ASSIGN && w->op && p->depth && top(p)->kind == TOK_LBRACKET;
	bool behind = w->op && is_text(p, p->before, ")") &&
	              (kind == YYSYMBOL_LPAREN || kind == YYSYMBOL_LBRACE || kind == YYSYMBOL_LPROPS);

	if (!inside && !(behind && !p->head && p->before.end == at.begin))
		return false;
	parse_error(p, at, E_SYNTAX, "properties stand in braces, before the arguments: Sum{axis=0}(x)");
	return true;
}

/* Python's header of a function, a graph without results, and types like a C declaration's */
static bool wrong_header(struct parse *p, int kind, struct span at)
{
	const char *why = NULL;
	bool opens = kind == YYSYMBOL_LBRACE && p->opened_head == TOK_GRAPH;

	if (p->head != TOK_GRAPH && !opens)
		return false;
	if (is_text(p, p->before, ")") && p->depth == opens &&
	    (opens || kind == YYSYMBOL_COLON || kind == YYSYMBOL_ASSIGN))
		why = "the names of results are written after '->': graph name(x: float32[n]) -> (y) {";
	else if (kind == YYSYMBOL_LPAREN && is_dtype(p, p->before))
		why = "lengths stand in square brackets: x: float32[n]";
	else if (kind == YYSYMBOL_LBRACKET && is_dtype(p, p->before))
		why = "a type is written after its name: x: float32[n]";
	else if (kind == YYSYMBOL_LPAREN && is_text(p, p->before, "graph"))
		why = "a graph has a name: graph name(x: float32[n]) -> (y) {";
	else if (kind == YYSYMBOL_LPAREN && is_text(p, p->before, "fn"))
		why = "a fn has a name: fn Name(x: F[n]) -> (y) {";
	else if (kind == YYSYMBOL_LT && p->first == TOK_FN)
		why = "a dtype that begins with a capital letter is generic by itself: "
		      "fn Name(x: T[n]) -> (y: T[n]) {";
	else if ((kind == YYSYMBOL_COLON || kind == YYSYMBOL_MUL) &&
	         (is_text(p, p->before, "[") || (is_text(p, p->before, ",") && top(p)->kind == TOK_LBRACKET)))
		why = "a size that only a run knows is '?', or a name such as n";
	if (why)
		parse_error(p, at, E_SYNTAX, "%s", why);
	return why != NULL;
}

/* (y, z) = f(x) and x[0].set(1), in which the parser stands at the bracket */
static bool wrong_target(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool begins = w->name && w->soft && !w->expr && !w->op;
	bool second = p->before.begin == p->first_span.begin && !w->expr && !w->op;
	bool square = kind == YYSYMBOL_LBRACKET;
	int n;

	if (!p->depth || p->head || (!square && kind != YYSYMBOL_LPAREN) || (!begins && !second))
		return false;
	const char *s = rest_of_line(p, at.begin, &n), *close = memchr(s, square ? ']' : ')', (size_t)n);
	if (!close)
		return false;
	struct span behind = {at.begin, at.begin + (uint32_t)(close - s) + 1};
	if (begins && is_assigned(p, behind))
		parse_error(p, at, E_SYNTAX, "the names on the left stand without brackets: %.*s = ...",
		            (int)(close - s) - 1, s + 1);
	else if (second && square)
		parse_error(p, p->before, E_SYNTAX, "a statement names its results: y = %.*s%.*s",
		            (int)(at.begin - p->before.begin), p->text + (p->before.begin - p->base),
		            n < 80 ? n : (int)(close - s) + 1, s);
	else
		return false;
	return true;
}

/* A value or a call that gets no name, a second '=' and two values in a row */
static bool wrong_statement(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	bool second = p->depth && p->before.begin == p->first_span.begin && !w->expr && !w->op;
	const char *name = p->text + (p->before.begin - p->base);
	int len = (int)(p->before.end - p->before.begin);

	if (!p->depth || p->head)
		return false;
	if (second && kind == YYSYMBOL_LT && text_starts(p, text_behind(p, p->before), "<-"))
		parse_error(p, at, E_SYNTAX, "a value gets its name by '=': %.*s = ...", len, name);
	else if (second && kind == YYSYMBOL_EQ)
		parse_error(p, at, E_SYNTAX, "a value gets its name by '=', and '==' compares: %.*s = ...",
		            len, name);
	else if (second && (kind == YYSYMBOL_LPAREN || is_operator(kind)))
		parse_error(p, at, E_SYNTAX, "a statement names its results: y = %.*s%s", len, name,
		            is_operator(kind) ? " ..." : "(...)");
	else if (kind == YYSYMBOL_ASSIGN && w->op && !token_opens(top(p)->kind))
		parse_error(p, at, E_SYNTAX, "a statement has one '='; '==' compares");
	else if ((kind == YYSYMBOL_NAME || kind == YYSYMBOL_INT || kind == YYSYMBOL_FLOAT) && w->op &&
	         !is_assigned(p, at) && in_block(p))
		parse_error(p, at, E_SYNTAX, "an operator is missing here: a product is a * b, and a call F(x)");
	else if (kind == YYSYMBOL_STR && w->op && p->text[at.begin - p->base] == '\'' &&
	         p->before.end == at.begin)
		parse_error(p, at, E_SYNTAX, "a transposed matrix is written x.T");
	else
		return false;
	return true;
}

/* Mistakes that people make: a message that says what to write instead. */
static bool known_mistake(struct parse *p, int kind, struct span at, const struct wanted *w)
{
	int inside = p->depth ? p->brackets[p->depth - 1].kind : 0;

	if (filter_blames_brace(p) || other_language(p, kind, at, w))
		return true;
	if (w->top && kind == YYSYMBOL_RULE) {
		parse_error(p, at, E_RESERVED, "'rule' is reserved: later versions of the language begin "
		            "a definition with it");
		return true;
	}
	if (kind == YYSYMBOL_NL && w->expr && p->depth && inside == TOK_LBRACE &&
	    !brace_at(p, at) && strchr("+-*/%@&|^=<>", p->text[p->before.end - p->base - 1]) &&
	    !is_text(p, p->before, "=")) {
		parse_error(p, p->before, E_SYNTAX, "an operator at the end of a line does not "
		            "continue it: put brackets around the expression");
		return true;
	}
	if (word_as_name(p, kind, at, w) || wrong_brackets(p, kind, at, w) || wrong_header(p, kind, at) ||
	    wrong_loop(p, kind, at, w) || wrong_properties(p, kind, at, w))
		return true;
	if (misplaced(p, kind, at, w) || looks_like_operator(p, kind, at, w) ||
	    meant_const(p, kind, at, w))
		return true;
	if (kind == YYSYMBOL_LBRACKET && inside == TOK_LBRACKET && p->before.begin == p->first_span.begin &&
	    assigns_in_place(p, at))
		return true;
	if (unnamed_branch(p, kind, w)) {
		parse_error(p, at, E_SYNTAX, "a branch names its results: y = if c { y = a } else { y = b }; "
		            "Switch(c, a, b) chooses for each element");
		return true;
	}
	if ((kind == YYSYMBOL_GT || kind == YYSYMBOL_ASSIGN) && w->op && angle_brackets(p, at))
		return true;
	if ((kind == YYSYMBOL_INTDIV && !w->op) || slashes_before(p, kind, at)) {
		parse_error(p, at, E_SYNTAX, "a comment begins with '#'; '//' divides and rounds down");
		return true;
	}
	if (w->op && is_text(p, at, "is")) {
		parse_error(p, at, E_SYNTAX, "there is no 'is': an argument that was left out is asked for by "
		            "x == None, and numbers are compared by ==");
		return true;
	}
	if (wrong_statement(p, kind, at, w) || wrong_target(p, kind, at, w))
		return true;
	if (is_comparison(kind) && w->op) {
		parse_error(p, at, E_CHAINED, "comparisons do not chain: write (a < b) & (b < c); "
		            "& and | bind tighter than comparisons");
		return true;
	}
	if (kind == YYSYMBOL_NAME && p->first == TOK_USE && is_text(p, p->before, "use")) {
		int len = (int)(at.end - at.begin);
		const char *name = p->text + (at.begin - p->base);
		parse_error(p, at, E_SYNTAX, "a file stands in quotes, and a library of ptgc in angle brackets: "
		            "use \"%.*s.ptg\" or use <%.*s>", len, name, len, name);
		return true;
	}
	if (kind == YYSYMBOL_STR && in_block(p) && !w->expr && !w->op && w->name && w->soft) {
		parse_error(p, at, E_SYNTAX, "a string on its own has no meaning: a comment begins with '#'");
		return true;
	}
	if (kind == YYSYMBOL_ASSIGN && p->first == TOK_STATE && !w->op && in_block(p)) {
		parse_error(p, at, E_SYNTAX, "a state has a type: state s: float64[] = 0");
		return true;
	}
	if (kind == YYSYMBOL_ASSIGN && p->head == TOK_IF) {
		parse_error(p, at, E_SYNTAX, "'=' cannot stand in a condition: '==' compares");
		return true;
	}
	if (kind == YYSYMBOL_NAME && is_text(p, p->before, "->") && in_block(p)) {
		bool type = p->head == TOK_GRAPH && *text_behind(p, at) == '[';
		parse_error(p, at, E_SYNTAX, "the names of results stand in brackets: -> (%s%.*s%s)",
		            type ? "y: " : "", (int)(at.end - at.begin), p->text + (at.begin - p->base),
		            type ? "[...]" : "");
		return true;
	}
	if (p->head == TOK_GRAPH && p->depth && kind == YYSYMBOL_DOT) {
		parse_error(p, at, E_SYNTAX, "a dtype is one word: float32[n]");
		return true;
	}
	if (p->head != TOK_GRAPH && p->depth && kind == YYSYMBOL_DOT && dot_before_name(p, at)) {
		parse_error(p, at, E_SYNTAX, "a '.' stands in op names (onnx.Gelu), in x.T, and in "
		            "x[...].set(v)");
		return true;
	}
	return false;
}

static const char *near_keyword(struct parse *p, struct span at)
{
	static const char *const words[] = {"graph", "fn", "use", "const"};
	const char *text = p->text + (at.begin - p->base);

	return did_you_mean(arena_strdup(p->arena, text, at.end - at.begin), words, 4);
}

/* What stands outside blocks, after a mistake in the graph or fn before it, whose braces may have been
 * counted wrong: a line of its body, or one that begins with its brace */
static bool left_behind(const struct parse *p, struct span at)
{
	const char *line = p->text + (at.begin - p->base);

	while (line > p->text && line[-1] != '\n')
		line--;
	bool within = line < p->text + p->len; /* the end of the text may be a line of its own */
	return !p->depth && p->told > p->defined_at && within &&
	       (*line == '}' || *line == ' ' || *line == '\t');
}

static int yyreport_syntax_error(const yypcontext_t *at, struct parse *p)
{
	int kind = yypcontext_token(at);
	struct span place = *yypcontext_location(at);
	struct wanted w = wanted(at);
	struct strbuf b = {.arena = p->arena};

	if (p->stop || p->skip)
		return 0;
	/* torn: what a wrong statement at the end of a block left behind it */
	bool made_up = place.begin == place.end && w.top;
	bool behind = left_behind(p, place);
	bool told = p->torn || made_up || told_in_line(p, place.begin) || behind;
	p->head_lost |= behind;
	p->told = place.begin;
	p->head_told = true;
	if (!told && !known_mistake(p, kind, place, &w)) {
		list_wanted(&b, &w);
		const char *near = w.top && kind == YYSYMBOL_NAME ? near_keyword(p, place) : NULL;
		parse_error(p, place, E_SYNTAX, "expected %s but found %s%s%s%s", b.s,
		            found(p, kind, place), near ? "; did you mean '" : "", near ? near : "",
		            near ? "'?" : "");
	}
	if (kind == YYSYMBOL_IF)
		p->head = 0; /* its block is skipped with it */
	if (kind == YYSYMBOL_NL && w.block)
		filter_skip_body(p);
	else if (kind == YYSYMBOL_NL && !p->head)
		filter_skip_lines(p);
	/* what is in the block of a header may have mistakes of its own */
	if (!p->head && !(kind == YYSYMBOL_LBRACE && p->opened_head))
		filter_skip(p);
	return 0;
}

/* Only called when the parser's stack is full. */
static void ptg_error(struct span *at, struct parse *p, const char *text)
{
	(void)text;
	parse_error(p, *at, E_DEPTH, "nested too deeply");
}
